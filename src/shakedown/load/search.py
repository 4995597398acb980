"""The highest load that keeps the service level objectives: doubling, then bisection. Pure but for ``measure``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal

from shakedown.domain.base import Value

Verdict = Literal["keeps", "breaks", "unclear"]
Kind = Literal["concurrency", "request_rate"]
Counts = Mapping[str, tuple[int, int]]
"""For each objective: how many values were within its limit, and of how many."""


class Share(Value):
    """One objective at one load: the share of values within its limit, and what follows."""

    objective: str
    within: int
    samples: int
    needed: float
    low: float
    """Wilson interval of the share, 95 %."""
    high: float
    verdict: Verdict

    @property
    def estimate_keeps(self) -> bool:
        """Whether the bare share is enough, certain or not."""
        return self.samples > 0 and self.within >= self.needed * self.samples


class Trial(Value):
    """One measured load; it keeps the objectives if each is kept."""

    load: float
    shares: tuple[Share, ...]
    verdict: Verdict
    keeps: bool
    """The verdict, or the estimate where the verdict is unclear."""


class SearchResult(Value):
    """``highest`` kept the objectives, ``lowest_broken`` did not; None where no such load was met."""

    kind: Kind
    highest: float | None
    lowest_broken: float | None
    certain: bool
    """Both ends of the bracket were decided by their intervals, not by bare estimates."""
    trials: tuple[Trial, ...]


def wilson(successes: int, samples: int, z: float = 1.959964) -> tuple[float, float]:
    """Interval of a proportion (Wilson 1927), right also for shares near 0 and 1 and for few samples."""
    if samples == 0:
        return 0.0, 1.0
    share = successes / samples
    centre = share + z * z / (2 * samples)
    spread = z * math.sqrt(share * (1 - share) / samples + z * z / (4 * samples * samples))
    scale = 1 + z * z / samples
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def search(
    measure: Callable[[float], Counts | None],
    *,
    kind: Kind,
    start: float,
    limit: float,
    needed: Mapping[str, float],
    resolution: float = 0.05,
    repeats: int = 3,
) -> SearchResult:
    """Find the highest load at which each objective holds for its ``needed`` share of values.

    Doubles from ``start`` until a load breaks or ``limit`` is reached, then halves the bracket down to ``resolution``
    of its lower end (or to neighbours, for concurrencies). A load whose intervals leave the answer open is measured
    again, its samples pooled, up to ``repeats`` times; if it stays open its estimate decides, and the result is not
    ``certain``. ``measure`` gives None when nothing more can be measured; the search then ends with what it has.
    """
    trials: list[Trial] = []

    def decide(load: float) -> bool | None:
        pooled: dict[str, tuple[int, int]] = {}
        trial: Trial | None = None
        for _ in range(repeats):
            counts = measure(load)
            if counts is None:
                return None
            for objective, (within, samples) in counts.items():
                before = pooled.get(objective, (0, 0))
                pooled[objective] = (before[0] + within, before[1] + samples)
            trial = judge(load, pooled, needed)
            if trial.verdict != "unclear":
                break
        assert trial is not None, "repeats is at least one"
        trials.append(trial)
        return trial.keeps

    low, high = _bracket(decide, start, limit)
    while low is not None and high is not None:
        middle = _between(low, high, kind, resolution)
        keeps = decide(middle) if middle is not None else None
        if middle is None or keeps is None:
            break
        low, high = (middle, high) if keeps else (low, middle)
    ends = [trial for trial in trials if trial.load in {low, high}]
    certain = bool(ends) and all(trial.verdict != "unclear" for trial in ends)
    return SearchResult(kind=kind, highest=low, lowest_broken=high, certain=certain, trials=tuple(trials))


def judge(load: float, counts: Counts, needed: Mapping[str, float]) -> Trial:
    """Judge one load by the interval of each objective's share."""
    shares = tuple(_share(objective, *counts[objective], needed[objective]) for objective in needed)
    verdicts = {share.verdict for share in shares}
    verdict: Verdict = "breaks" if "breaks" in verdicts else "unclear" if "unclear" in verdicts else "keeps"
    return Trial(load=load, shares=shares, verdict=verdict, keeps=all(share.estimate_keeps for share in shares))


def _share(objective: str, within: int, samples: int, needed: float) -> Share:
    low, high = wilson(within, samples)
    verdict: Verdict = "keeps" if low >= needed else "breaks" if high < needed else "unclear"
    if needed >= 1 and samples:  # one value beyond a maximum breaks it, and no number of samples proves a share of one
        verdict = "keeps" if within == samples else "breaks"
    return Share(
        objective=objective, within=within, samples=samples, needed=needed, low=low, high=high, verdict=verdict
    )


def _bracket(decide: Callable[[float], bool | None], start: float, limit: float) -> tuple[float | None, float | None]:
    """Double until a load breaks; what is below the first is not looked at."""
    low: float | None = None
    load = min(start, limit)
    while True:
        keeps = decide(load)
        if keeps is None:
            return low, None
        if not keeps:
            return low, load
        low = load
        if load >= limit:
            return low, None
        load = min(2 * load, limit)


def _between(low: float, high: float, kind: Kind, resolution: float) -> float | None:
    if kind == "concurrency":
        return float((int(low) + int(high)) // 2) if high - low > max(1.0, resolution * low) else None
    return math.sqrt(low * high) if high > (1 + resolution) * low else None
