"""Against the adaptive integration of SciPy, and against the t distribution for two groups."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import studentized_range, t

from shakedown.stats.studentized_range import studentized_range_sf


@pytest.mark.parametrize(("groups", "df"), [(2, 2.0), (3, 2.3), (6, 5.0), (12, 12.0), (40, 3.0), (150, 150.0)])
@pytest.mark.parametrize("q", [1.5, 3.3, 4.5, 8.0])
def test_it_agrees_with_adaptive_integration(q: float, groups: int, df: float) -> None:
    assert studentized_range_sf(q, groups, df) == pytest.approx(studentized_range.sf(q, groups, df), abs=1e-4)


@given(st.floats(0, 12), st.floats(1, 200))
def test_two_groups_are_a_two_sided_t_test(statistic: float, df: float) -> None:
    assert studentized_range_sf(statistic * math.sqrt(2), 2, df) == pytest.approx(2 * t.sf(statistic, df), abs=1e-4)


@given(st.floats(0, 9), st.integers(2, 50), st.floats(1.5, 100))
def test_more_groups_spread_further(q: float, groups: int, df: float) -> None:
    assert studentized_range_sf(q, groups + 1, df) >= studentized_range_sf(q, groups, df) - 1e-6
