from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from shakedown.checks.probing import FIRST, starts


@given(st.integers(1, 200_000), st.integers(2, 40), st.integers(1, 16))
def test_stretches_lie_inside_the_text_apart_and_in_order(length, count, stretch):
    found = starts(length, count, stretch)
    assert 1 <= len(found) <= count
    assert all(later - earlier >= stretch for earlier, later in pairwise(found))
    assert found[0] >= 1
    assert found[-1] + stretch - 1 <= max(length, stretch)


@given(st.integers(1000, 200_000))
def test_the_end_of_the_text_is_probed_and_its_second_half_often_enough_to_decide(length):
    found = starts(length, 20, 3)
    assert found[-1] + 2 == length
    assert found[0] == FIRST
    assert sum(start > length // 2 for start in found) >= 9
