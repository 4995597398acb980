import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shakedown.domain.workload import Arrival
from shakedown.load.schedule import arrival_offsets, ramp_offsets

rates = st.floats(0.01, 10_000)


@given(st.integers(1, 500), rates, st.sampled_from(list(Arrival)), st.floats(0.05, 20), st.integers(0, 2**32))
def test_offsets_ascend_from_zero_and_are_reproducible(
    count: int, rate: float, arrival: Arrival, burstiness: float, seed: int
) -> None:
    offsets = arrival_offsets(count, rate, arrival=arrival, burstiness=burstiness, seed=seed)
    assert len(offsets) == count
    assert offsets[0] == 0
    assert (np.diff(offsets) >= 0).all()
    assert np.array_equal(offsets, arrival_offsets(count, rate, arrival=arrival, burstiness=burstiness, seed=seed))


@pytest.mark.parametrize(
    ("arrival", "burstiness", "law"),
    [
        (Arrival.POISSON, 1.0, stats.expon(scale=1 / 500)),
        (Arrival.GAMMA, 0.5, stats.gamma(0.5, scale=1 / (500 * 0.5))),
        (Arrival.GAMMA, 4.0, stats.gamma(4.0, scale=1 / (500 * 4.0))),
    ],
)
def test_gaps_follow_the_law(arrival: Arrival, burstiness: float, law: object) -> None:
    offsets = arrival_offsets(30_000, 500.0, arrival=arrival, burstiness=burstiness, seed=7)
    assert stats.kstest(np.diff(offsets), law.cdf).pvalue > 0.01  # type: ignore[attr-defined]


def test_constant_and_infinite_rates() -> None:
    assert arrival_offsets(4, 2.0, arrival=Arrival.CONSTANT).tolist() == [0, 0.5, 1.0, 1.5]
    assert arrival_offsets(3, math.inf).tolist() == [0, 0, 0]


@given(st.floats(0.1, 100), st.floats(0.1, 100), st.floats(1, 60))
def test_a_ramp_sends_as_many_as_its_area_and_stays_inside(first: float, last: float, seconds: float) -> None:
    offsets = ramp_offsets(first, last, seconds)
    assert len(offsets) == math.floor((first + last) / 2 * seconds) + 1
    assert offsets[0] == 0
    assert (np.diff(offsets) > 0).all()
    assert offsets[-1] <= seconds * (1 + 1e-9)


def test_a_rising_ramp_speeds_up() -> None:
    gaps = np.diff(ramp_offsets(1.0, 10.0, 10.0))
    assert (np.diff(gaps) < 0).all()


@pytest.mark.parametrize(("rate", "burstiness"), [(0, 1), (-1, 1), (math.nan, 1), (1, 0)])
def test_impossible_rates_are_refused(rate: float, burstiness: float) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        arrival_offsets(3, rate, burstiness=burstiness)
