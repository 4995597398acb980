"""Ratios of percentiles between servers whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.stats.calibration import bootstrap_coverage

from shakedown.stats.bootstrap import Launches, bootstrap_ratio


def p99(values: np.ndarray) -> float:
    return float(np.percentile(values, 99))


def mean(values: np.ndarray) -> float:
    return float(np.mean(values))


def launches(count: int, repeats: int, scale: float = 1.0, seed: int = 0, sd: float = 0.03) -> Launches:
    rng = np.random.default_rng(seed)
    return [
        [list(scale * np.exp(effect + rng.normal(0, 0.2, 200))) for _ in range(repeats)]
        for effect in rng.normal(0, sd, count)
    ]


def test_a_ratio_of_percentiles_has_an_interval_round_it() -> None:
    result = bootstrap_ratio(launches(4, 2, 1.5), launches(4, 2, 1.0, seed=1), p99)
    assert result.launch_variance_measured
    assert result.interval is not None
    assert result.interval[0] < result.ratio < result.interval[1]
    assert result.interval[0] > 1
    assert result.ratio == pytest.approx(1.5, rel=0.1)


def test_one_launch_each_leaves_launches_out_and_says_so() -> None:
    result = bootstrap_ratio(launches(1, 3), launches(3, 3, seed=1), mean)
    assert not result.launch_variance_measured
    assert result.interval is not None


def test_one_repeat_of_one_launch_has_no_interval() -> None:
    result = bootstrap_ratio(launches(1, 1), launches(3, 3, seed=1), mean)
    assert result.interval is None
    assert result.ratio > 0


def test_the_same_seed_gives_the_same_interval_and_identical_sides_none() -> None:
    a, b = launches(3, 1), launches(3, 1, seed=2)
    assert bootstrap_ratio(a, b, mean, seed=5) == bootstrap_ratio(a, b, mean, seed=5)
    constant = [[[2.0, 2.0]], [[2.0, 2.0]]]
    assert bootstrap_ratio(constant, constant, mean).interval == pytest.approx((1.0, 1.0))


def test_launches_that_scatter_widen_it_however_many_requests_there_are() -> None:
    quiet = bootstrap_ratio(launches(4, 2, sd=0.0), launches(4, 2, seed=1, sd=0.0), mean)
    loud = bootstrap_ratio(launches(4, 2, sd=0.3), launches(4, 2, seed=1, sd=0.3), mean)
    assert quiet.interval is not None
    assert loud.interval is not None
    assert np.ptp(np.log(loud.interval)) > 3 * np.ptp(np.log(quiet.interval))


@pytest.mark.parametrize("count", [3, 5])
def test_it_covers_as_often_as_it_says(count: int) -> None:
    assert 0.91 <= bootstrap_coverage(count, mean, runs=200, resamples=200) <= 0.99
