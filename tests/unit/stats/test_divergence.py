import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.stats.divergence import Decision, Estimate, bootstrap_mean, decide, k3, kl_from_top, tail_mass

weights = st.lists(st.floats(0.001, 1.0), min_size=6, max_size=40)


def distribution(raw):
    total = sum(raw)
    return {token: math.log(weight / total) for token, weight in enumerate(raw)}


def top(logprobs, k):
    return dict(sorted(logprobs.items(), key=lambda item: -item[1])[:k])


def true_kl(p, q):
    return sum(math.exp(p[token]) * (p[token] - q[token]) for token in p)


@given(weights)
def test_a_distribution_does_not_diverge_from_itself(raw):
    p = distribution(raw)
    assert kl_from_top(top(p, 5), top(p, 5)) == pytest.approx(0, abs=1e-9)


@given(weights, st.randoms(use_true_random=False), st.integers(1, 40), st.integers(1, 40))
def test_lists_of_top_tokens_never_claim_more_than_the_true_divergence(raw, draw, k, other_k):
    p = distribution(raw)
    q = distribution(draw.sample(raw, len(raw)))
    told = kl_from_top(top(p, k), top(q, other_k))
    assert 0 <= told <= true_kl(p, q) + 1e-6


@given(weights, st.randoms(use_true_random=False))
def test_whole_lists_give_the_true_divergence(raw, draw):
    p = distribution(raw)
    q = distribution(draw.sample(raw, len(raw)))
    assert kl_from_top(p, q) == pytest.approx(true_kl(p, q), abs=1e-5)


def test_disjoint_lists_are_far_apart_when_the_tops_are_likely():
    one = {1: math.log(0.90), 2: math.log(0.05)}
    other = {3: math.log(0.90), 4: math.log(0.05)}
    assert kl_from_top(one, other) > 2


def test_a_likely_token_missing_from_the_other_list_cannot_hide_in_its_tail():
    one = {1: math.log(0.8), 2: math.log(0.1)}
    other = {2: math.log(0.3), 3: math.log(0.01)}  # 69 % of its mass is unlisted, yet no unlisted token is above 1 %
    assert kl_from_top(one, other) > 0.8 * math.log(0.8 / 0.01) - 1


def test_an_empty_list_says_nothing():
    assert kl_from_top({}, {1: -0.1}) is None
    assert kl_from_top({1: -0.1}, {}) is None


def test_tail_mass_is_what_the_list_leaves_out():
    assert tail_mass({1: math.log(0.5), 2: math.log(0.25)}) == pytest.approx(0.25)
    assert tail_mass({1: 1e-7}) == 0


def test_k3_is_unbiased_for_tokens_drawn_from_p():
    rng = np.random.default_rng(1)
    p, q = np.array([0.6, 0.3, 0.1]), np.array([0.5, 0.3, 0.2])
    drawn = rng.choice(3, size=40_000, p=p)
    mean = np.mean([k3(math.log(p[token]), math.log(q[token])) for token in drawn])
    assert mean == pytest.approx(float((p * np.log(p / q)).sum()), abs=0.002)


@given(st.floats(-30, 0), st.floats(-30, 0))
def test_k3_is_never_negative(one, other):
    assert k3(one, other) >= 0


def test_interval_of_clustered_values_covers_the_true_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(7)
    hits = 0
    for trial in range(200):
        centre = rng.normal(1.0, 0.5, size=25).repeat(4)  # four positions of a stretch move together
        values = centre + rng.normal(0, 0.1, size=100)
        estimate = bootstrap_mean(values.tolist(), [i // 4 for i in range(100)], resamples=600, seed=trial)
        hits += estimate.low <= 1.0 <= estimate.high
    assert 0.88 <= hits / 200 <= 0.99


def test_positions_that_move_together_widen_the_interval():
    values = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]
    alone = bootstrap_mean(values, list(range(8)))
    together = bootstrap_mean(values, [0, 0, 0, 0, 1, 1, 1, 1])
    assert together.high - together.low > alone.high - alone.low
    assert (together.samples, together.clusters) == (8, 2)


def test_equal_values_give_equal_intervals_again():
    assert bootstrap_mean([0.1, 0.2, 0.9], [1, 2, 3]) == bootstrap_mean([0.1, 0.2, 0.9], [1, 2, 3])


def test_no_values_have_no_mean():
    with pytest.raises(ValueError, match="no values"):
        bootstrap_mean([], [])


@pytest.mark.parametrize(
    ("low", "high", "decision"),
    [(0.0, 0.04, Decision.WITHIN), (0.06, 0.2, Decision.ABOVE), (0.02, 0.2, Decision.UNDECIDED)],
)
def test_the_interval_decides_not_the_point(low, high, decision):
    assert decide(Estimate(0.055, low, high, 20, 10), 0.05) is decision
