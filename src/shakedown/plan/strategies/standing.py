"""What the launches so far say of each arm: estimates on the log scale, the best, and who may still be the best."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from shakedown.domain.words import Verdict
from shakedown.plan.strategies.base import Observation, SearchState

ONE_SIDED_95 = 1.645
"""Normal quantile: an arm whose upper bound lies below the bar is worse at 95 % confidence, one-sided."""
_PRIOR_LAUNCHES = 2
"""Degrees of freedom given to the guess that launches spread by the margin, until repeats say better."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Logarithm of an arm's ratio: mean over its launches, standard error, upper bound (95 %, one-sided)."""

    mean: float
    error: float
    upper: float


def launch_counts(state: SearchState) -> Counter[str]:
    """Count launches by candidate id."""
    return Counter(state.order)


def works(observation: Observation) -> bool:
    """Tell whether the last launch qualified and something was measured."""
    return observation.verdict is Verdict.QUALIFIED and bool(observation.ratios)


def launch_spread(state: SearchState) -> float:
    """Standard deviation of the log ratio from launch to launch, pooled over arms launched more than once.

    One arm's few launches say little of its own spread; launches of one machine spread alike.
    """
    squares = _PRIOR_LAUNCHES * state.margin**2
    freedom = float(_PRIOR_LAUNCHES)
    for observation in state.observations.values():
        logs = [math.log(ratio) for ratio in observation.ratios]
        if works(observation) and len(logs) > 1:
            mean = math.fsum(logs) / len(logs)
            squares += math.fsum((value - mean) ** 2 for value in logs)
            freedom += len(logs) - 1
    return math.sqrt(squares / freedom)


def estimates(state: SearchState) -> dict[str, Estimate]:
    """Estimate every arm that works, in the order of the plan."""
    spread = launch_spread(state)
    found: dict[str, Estimate] = {}
    for arm in state.arms:
        observation = state.observations.get(arm.id)
        if observation is None or not works(observation):
            continue
        mean = math.fsum(map(math.log, observation.ratios)) / len(observation.ratios)
        error = spread / math.sqrt(len(observation.ratios))
        upper = math.log(observation.interval[1]) if observation.interval else mean + ONE_SIDED_95 * error
        found[arm.id] = Estimate(mean, error, upper)
    return found


def best_of(known: Mapping[str, Estimate]) -> str | None:
    """Return the arm with the highest mean less its standard error: a single lucky launch does not lead."""
    return max(known, key=lambda arm: known[arm].mean - known[arm].error, default=None)


def contenders(state: SearchState) -> list[str]:
    """Return arms not shown to be worse than the best by the margin, in the order of the plan."""
    known = estimates(state)
    best = best_of(known)
    if best is None:
        return []
    bar = known[best].mean + math.log1p(-state.margin)
    return [arm for arm, estimate in known.items() if estimate.upper >= bar]
