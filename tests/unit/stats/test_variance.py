"""Spreads and their components, against simulated truth."""

import numpy as np
import pytest

from shakedown.stats.variance import Spread, difference_error, pooled_spread, spread_of, variance_components


def test_pooling_weighs_by_degrees_of_freedom() -> None:
    pooled = pooled_spread([[0.0, 2.0], [0.0, 1.0, 2.0], [5.0]])
    assert pooled == Spread(pytest.approx((2.0 * 1 + 1.0 * 2) / 3), 3)


def test_nothing_repeated_has_no_spread() -> None:
    assert pooled_spread([[1.0], [2.0]]) is None
    assert pooled_spread([]) is None


def test_few_values_take_the_pooled_spread_many_their_own() -> None:
    pooled = Spread(9.0, 20)
    assert spread_of([0.0, 1.0], pooled) is pooled
    assert spread_of([0.0, 1.0, 0.0, 1.0, 0.0], pooled) == Spread(pytest.approx(0.3), 4)


def test_two_pooled_spreads_are_one_estimate() -> None:
    pooled = Spread(4.0, 6)
    error, df = difference_error((pooled, 2), (pooled, 2), pooled)
    assert error == pytest.approx(2.0)
    assert df == 6


@pytest.mark.parametrize(("launch_sd", "repeat_sd"), [(0.03, 0.01), (0.0, 0.02), (0.02, 0.0)])
def test_the_components_are_found_again(launch_sd: float, repeat_sd: float) -> None:
    rng = np.random.default_rng(7)
    arms = [[list(effect + rng.normal(0, repeat_sd, 3)) for effect in rng.normal(0, launch_sd, 4)] for _ in range(200)]
    found = variance_components(arms)
    assert found.launch_sd == pytest.approx(launch_sd, abs=0.003)
    assert found.repeat_sd == pytest.approx(repeat_sd, abs=0.001)


def test_what_was_not_repeated_is_none() -> None:
    assert variance_components([[[1.0, 1.1]]]).launch_sd is None
    assert variance_components([[[1.0], [1.1]]]).repeat_sd is None
