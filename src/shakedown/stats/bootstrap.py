"""Ratio of any statistic of request values (a p99 of latencies) between two servers, by a cluster bootstrap.

Verdicts do not use it: the objective is a mean of logarithms, for which :mod:`shakedown.stats.equivalence` is exact. It
serves figures that have no value of their own in each launch worth averaging, percentiles above all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Launches = Sequence[Sequence[Sequence[float]]]
"""Launches of repeats of request values."""
Statistic = Callable[[NDArray[np.float64]], float]


@dataclass(frozen=True, slots=True)
class BootstrapRatio:
    """``a`` over ``b`` of a statistic.

    Attributes:
        ratio: of the statistic over all requests of each side.
        interval: at the confidence asked for; None where a side has a single launch of a single repeat.
        launch_variance_measured: False: the interval contains repeats only, launches were not repeated on both sides.
    """

    ratio: float
    interval: tuple[float, float] | None
    launch_variance_measured: bool


def bootstrap_ratio(
    a: Launches, b: Launches, statistic: Statistic, *, confidence: float = 0.95, resamples: int = 1000, seed: int = 0
) -> BootstrapRatio:
    """Compare a positive statistic of two servers, respecting that requests share a repeat and repeats a launch.

    Whole launches are drawn with replacement (whole repeats where a side was launched once), never requests: drawing
    the lower levels too would count their scatter twice (Davison and Hinkley 1997, "Bootstrap Methods and their
    Application", section 3.8). The bootstrap gives the standard error of the log ratio; with the factor n/(n - 1) that
    the bootstrap's variance lacks, and a t quantile at Welch's degrees of freedom, the interval holds for the two to
    five launches that there are, where percentiles of the resamples do not (docs/statistics.md).
    """
    by_launch = len(a) > 1 and len(b) > 1
    clusters = [_clusters(side, by_launch=by_launch) for side in (a, b)]
    ratio = statistic(np.concatenate(clusters[0])) / statistic(np.concatenate(clusters[1]))
    if min(len(side) for side in clusters) < 2:
        return BootstrapRatio(ratio, None, launch_variance_measured=by_launch)
    rng = np.random.default_rng(seed)
    variances = [_log_variance(side, statistic, resamples, rng) for side in clusters]
    total = sum(variances)
    parts = sum(v**2 / (len(side) - 1) for v, side in zip(variances, clusters, strict=True))
    half = float(stdtrit(total**2 / parts, (1 + confidence) / 2)) * math.sqrt(total) if parts > 0 else 0.0
    interval = (ratio * math.exp(-half), ratio * math.exp(half))
    return BootstrapRatio(ratio, interval, launch_variance_measured=by_launch)


def _clusters(side: Launches, *, by_launch: bool) -> list[NDArray[np.float64]]:
    """Request values that are drawn together."""
    if by_launch:
        return [np.concatenate([np.asarray(repeat, float) for repeat in launch]) for launch in side]
    return [np.asarray(repeat, float) for launch in side for repeat in launch]


def _log_variance(
    clusters: Sequence[NDArray[np.float64]], statistic: Statistic, resamples: int, rng: np.random.Generator
) -> float:
    """Variance of the statistic's logarithm over draws of clusters, corrected for their small number."""
    n = len(clusters)
    # The order of a draw does not matter: few clusters make few distinct draws, each computed once.
    draws = np.sort(rng.integers(0, n, (resamples, n)), axis=1)
    distinct, counts = np.unique(draws, axis=0, return_counts=True)
    logs = np.array([math.log(statistic(np.concatenate([clusters[index] for index in draw]))) for draw in distinct])
    mean = np.average(logs, weights=counts)
    return float(np.average((logs - mean) ** 2, weights=counts)) * n / (n - 1)
