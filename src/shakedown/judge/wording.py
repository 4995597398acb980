"""How numbers are said in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from shakedown.domain.words import Objective

OBJECTIVE_WORDS = {
    Objective.OUTPUT_TOKENS_PER_S: "output tokens/s",
    Objective.PER_REQUEST_TOKENS_PER_S: "tokens/s of a request",
    Objective.GOODPUT: "goodput",
    Objective.TTFT: "speed to the first token (reciprocal of the median)",
}


AGGREGATE = "geometric mean of ratios to the reference, points equal within a workload, workloads by weight"


def times(ratio: float) -> str:
    """A ratio with three decimals: 1.034x."""
    return f"{ratio:.3f}x"


def percent(share: float) -> str:
    """A share as a percentage with as many digits as it deserves."""
    value = 100 * share
    return f"{value:.0f} %" if abs(value) >= 10 else f"{value:.1f} %"


def gain(ratio: float) -> str:
    """A ratio as a signed difference: +3.4 %."""
    value = 100 * (ratio - 1)
    return f"{value:+.0f} %" if abs(value) >= 10 else f"{value:+.1f} %"


def interval_words(interval: tuple[float, float] | None, confidence: float) -> str:
    """An interval of a ratio in words."""
    if interval is None:
        return "no interval: nothing was repeated"
    return f"{100 * confidence:g} % interval {interval[0]:.3f} to {interval[1]:.3f}"


def listed(items: Sequence[str], limit: int = 4) -> str:
    """Join with commas and 'and'; beyond ``limit`` the rest is counted."""
    shown = list(items[:limit])
    if len(items) > limit:
        shown.append(f"{len(items) - limit} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else ""


def counted(number: int, noun: str) -> str:
    """A number with its noun: 1 launch, 2 launches."""
    plural = f"{noun}es" if noun.endswith(("ch", "sh", "s", "x")) else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
