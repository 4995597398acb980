import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.stats.proportion import mcnemar, wilson


def test_wilson_gives_the_published_values():
    # R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3: 81 of 263.
    low, high = wilson(81, 263)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)


@given(st.integers(1, 500), st.data())
def test_wilson_holds_the_share_and_stays_a_share(trials, data):
    successes = data.draw(st.integers(0, trials))
    low, high = wilson(successes, trials)
    assert 0 <= low <= successes / trials + 1e-12
    assert successes / trials - 1e-12 <= high <= 1


def test_wilson_of_nothing_is_an_error():
    with pytest.raises(ValueError, match="at least one"):
        wilson(0, 0)


def test_mcnemar_counts_only_what_differs():
    reference = [True] * 10 + [False] * 5
    candidate = [True] * 4 + [False] * 6 + [False] * 5
    pairs = mcnemar(reference, candidate)
    assert (pairs.both, pairs.only_reference, pairs.only_candidate, pairs.neither) == (4, 6, 0, 5)
    assert pairs.p_worse == pytest.approx(0.5**6)


def test_servers_that_never_differ_are_not_worse():
    assert mcnemar([True, False], [True, False]).p_worse == 1


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=30))
def test_swapping_the_servers_swaps_the_counts(pairs):
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    there, back = mcnemar(one, other), mcnemar(other, one)
    assert (there.only_reference, there.only_candidate) == (back.only_candidate, back.only_reference)


def test_lists_of_different_length_are_an_error():
    with pytest.raises(ValueError, match="zip"):
        mcnemar([True], [])
