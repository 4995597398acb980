"""The highest load that keeps the service level objectives: doubling, then bisection. Pure but for ``measure``."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from shakedown.domain.base import Value

Verdict = Literal["keeps", "breaks", "unclear"]


class Trial(Value):
    """One measured level: how many requests kept every limit, and what follows."""

    load: float
    kept: int
    requests: int
    needed: float
    """Share of requests that must keep the limits."""
    low: float
    """Wilson interval of the share that kept them, 95 %."""
    high: float
    verdict: Verdict


class SearchResult(Value):
    """``highest`` kept the objectives, ``lowest_broken`` did not; None where no such load was met."""

    kind: Literal["concurrency", "request_rate"]
    highest: float | None
    lowest_broken: float | None
    certain: bool
    """Both ends of the bracket were decided by their interval, not by a bare estimate."""
    trials: tuple[Trial, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """What one measurement of a level gave; ``kept`` of ``requests`` kept every limit."""

    kept: int
    requests: int


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
    measure: Callable[[float], Measured | None],
    *,
    kind: Literal["concurrency", "request_rate"],
    start: float,
    limit: float,
    needed: float,
    resolution: float = 0.05,
    repeats: int = 3,
) -> SearchResult:
    """Find the highest load at which at least ``needed`` of all requests keep the limits.

    Doubles from ``start`` until a level breaks or ``limit`` is reached, then halves the bracket down to ``resolution``
    of its lower end (or to neighbours, for concurrencies). A level whose interval holds ``needed`` is measured again,
    its samples pooled, up to ``repeats`` times; if it stays unclear its estimate decides and the result is not
    ``certain``. ``measure`` gives None when nothing more can be measured; the search then ends with what it has.
    """
    trials: list[Trial] = []

    def decide(load: float) -> bool | None:
        kept = requests = 0
        for _ in range(repeats):
            measured = measure(load)
            if measured is None:
                return None
            kept += measured.kept
            requests += measured.requests
            trial = _trial(load, kept, requests, needed)
            if trial.verdict != "unclear":
                break
        trials.append(trial)
        return trial.kept >= needed * trial.requests and trial.requests > 0

    low, high = _bracket(decide, start, limit)
    while low is not None and high is not None:
        middle = _between(low, high, kind, resolution)
        if middle is None:
            break
        keeps = decide(middle)
        if keeps is None:
            break
        low, high = (middle, high) if keeps else (low, middle)
    ends = [trial for trial in trials if trial.load in {low, high}]
    certain = bool(ends) and all(trial.verdict != "unclear" for trial in ends)
    return SearchResult(kind=kind, highest=low, lowest_broken=high, certain=certain, trials=tuple(trials))


def _trial(load: float, kept: int, requests: int, needed: float) -> Trial:
    low, high = wilson(kept, requests)
    verdict: Verdict = "keeps" if low >= needed else "breaks" if high < needed else "unclear"
    if requests and kept == requests and needed >= 1:
        verdict = "keeps"  # no number of samples could prove a share of one
    return Trial(load=load, kept=kept, requests=requests, needed=needed, low=low, high=high, verdict=verdict)


def _bracket(decide: Callable[[float], bool | None], start: float, limit: float) -> tuple[float | None, float | None]:
    """Double until a level breaks; what is below the first level is not looked at."""
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


def _between(low: float, high: float, kind: str, resolution: float) -> float | None:
    if kind == "concurrency":
        return float((int(low) + int(high)) // 2) if high - low > max(1.0, resolution * low) else None
    return math.sqrt(low * high) if high > (1 + resolution) * low else None
