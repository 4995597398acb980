"""Spread of a few replicates each, pooled over all candidates of a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

OWN_SPREAD_FROM = 5
"""Replicates from which on a candidate's own spread is used.

With fewer, the t quantile of its own few degrees of freedom makes intervals two to three times as wide as the pooled
spread does, while pooling keeps the coverage even where spreads differ fourfold (docs/statistics.md)."""

_FLOOR = 1e-14
"""Smallest variance of a log score: timers do not resolve a relative difference under 1e-7."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A variance estimate and its degrees of freedom."""

    variance: float
    df: float


def pooled_spread(groups: Sequence[Sequence[float]]) -> Spread | None:
    """Spread within groups, common to all of them; None if no group has two values."""
    spreads = [_own(group) for group in groups if len(group) > 1]
    df = sum(spread.df for spread in spreads)
    if not spreads:
        return None
    return Spread(sum(spread.variance * spread.df for spread in spreads) / df, df)


def spread_of(group: Sequence[float], pooled: Spread) -> Spread:
    """Spread of one candidate's replicates: its own where it has enough, the pooled one otherwise."""
    return _own(group) if len(group) >= OWN_SPREAD_FROM else pooled


def difference_error(a: tuple[Spread, int], b: tuple[Spread, int], pooled: Spread) -> tuple[float, float]:
    """Standard error of the difference of two means, and its degrees of freedom.

    Welch and Satterthwaite where both spreads are their own. Two pooled spreads are one estimate, not two, hence the
    limit of the degrees of freedom.
    """
    parts = [(spread.variance / count, spread.df) for spread, count in (a, b)]
    total = sum(variance for variance, _ in parts)
    df = total**2 / sum(variance**2 / df for variance, df in parts)
    return float(np.sqrt(total)), min(df, pooled.df)


@dataclass(frozen=True, slots=True)
class Components:
    """Where the scatter of a score comes from: standard deviations of its logarithm, so about relative ones.

    Attributes:
        launch_sd: of what one launch adds to all of its repeats; None where launches were not repeated.
        repeat_sd: of one round of repeats within a launch; None where repeats were not.
    """

    launch_sd: float | None
    repeat_sd: float | None


def variance_components(arms: Sequence[Sequence[Sequence[float]]]) -> Components:
    """Split the scatter of round scores (candidates of launches of rounds) by the method of moments, pooled.

    The variance of launch means is the launch variance plus that of a mean of repeats; what is left of it without the
    latter is the launch's own, never under zero.
    """
    repeat = pooled_spread([launch for arm in arms for launch in arm])
    means = [[float(np.mean(launch)) for launch in arm] for arm in arms]
    between = pooled_spread(means)
    launch_variance = None
    if between is not None:
        rounds = float(np.mean([len(launch) for arm in arms for launch in arm]))
        of_repeats = repeat.variance / rounds if repeat is not None else 0.0
        launch_variance = max(between.variance - of_repeats, 0.0)
    return Components(
        launch_sd=None if launch_variance is None else float(np.sqrt(launch_variance)),
        repeat_sd=None if repeat is None else float(np.sqrt(repeat.variance)),
    )


def _own(group: Sequence[float]) -> Spread:
    return Spread(max(float(np.var(group, ddof=1)), _FLOOR), len(group) - 1)
