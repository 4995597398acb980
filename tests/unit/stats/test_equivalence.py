"""Ratios, intervals and what they say, on numbers made for it; coverage is in test_calibration.py."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.domain.words import ComparisonStatus
from shakedown.stats.arms import Arm, PointKey, launch_scores, point_weights, repeat_scores
from shakedown.stats.equivalence import Experiment

A1, A4, B1 = PointKey("a", 1, None), PointKey("a", 4, None), PointKey("b", None, 2.0)


def arm(*launches: dict[PointKey, list[float]]) -> Arm:
    return Arm(tuple({point: [math.log(v) for v in values] for point, values in launch.items()} for launch in launches))


def experiment(margin: float = 0.02, **arms: Arm) -> Experiment:
    return Experiment(arms, {}, margin=margin, confidence=0.95)


def test_points_are_equal_within_a_workload_and_workloads_by_weight() -> None:
    weights = point_weights([A1, A4, B1], {"a": 1.0, "b": 3.0})
    assert weights == {A1: 0.125, A4: 0.125, B1: 0.75}


@given(
    st.dictionaries(
        st.builds(PointKey, st.sampled_from("abc"), st.integers(1, 9), st.none()), st.floats(0.1, 9), min_size=1
    )
)
def test_weights_sum_to_one(points: dict[PointKey, float]) -> None:
    assert sum(point_weights(points, {"a": 2.5, "b": 0.1}).values()) == pytest.approx(1)


def test_the_ratio_is_the_geometric_mean_of_the_points() -> None:
    fast, slow = arm({A1: [200, 200], A4: [100, 100]}), arm({A1: [100, 100], A4: [100, 100]})
    ratio = experiment(fast=fast, slow=slow).compare("fast", "slow")
    assert ratio is not None
    assert ratio.ratio == pytest.approx(math.sqrt(2))
    assert ratio.status is ComparisonStatus.BETTER
    assert ratio.points == 2


def test_only_points_of_both_count() -> None:
    ours, theirs = arm({A1: [100, 101], B1: [5, 5]}), arm({A1: [100, 101], A4: [900, 900]})
    ratio = experiment(a=ours, b=theirs).compare("a", "b")
    assert ratio is not None
    assert (ratio.ratio, ratio.points) == (pytest.approx(1), 1)


def test_nothing_in_common_cannot_be_compared() -> None:
    assert experiment(a=arm({A1: [1.0]}), b=arm({B1: [1.0]})).compare("a", "b") is None
    assert experiment(a=arm({A1: [1.0]}), b=arm({A1: [1.0]})).compare("a", "b", "no such workload") is None


def test_a_single_value_each_has_no_interval_and_decides_nothing() -> None:
    ratio = experiment(a=arm({A1: [100.0]}), b=arm({A1: [200.0]})).compare("a", "b")
    assert ratio is not None
    assert ratio.interval is None
    assert ratio.status is ComparisonStatus.INCONCLUSIVE


def test_a_tiny_difference_is_equivalent_even_where_it_is_significant() -> None:
    quiet = experiment(a=arm({A1: [100.00, 100.01, 100.02]}), b=arm({A1: [100.50, 100.51, 100.52]}))
    ratio = quiet.compare("a", "b")
    assert ratio is not None
    assert ratio.interval is not None
    assert ratio.interval[1] < 1
    assert ratio.status is ComparisonStatus.EQUIVALENT


def test_the_margin_decides_what_is_equivalent() -> None:
    arms = {"a": arm({A1: [100, 101, 99]}), "b": arm({A1: [104, 105, 103]})}
    narrow, wide = experiment(**arms).compare("a", "b"), experiment(margin=0.10, **arms).compare("a", "b")
    assert narrow is not None
    assert wide is not None
    assert narrow.status is ComparisonStatus.WORSE
    assert wide.status is ComparisonStatus.EQUIVALENT


def test_launches_not_repeats_are_the_replicates_once_they_were_repeated() -> None:
    # Repeats agree to 0.1 %, launches differ by 10 %: what looks decided by repeats is not.
    ours = [{A1: [100, 100.1]}, {A1: [110, 110.1]}]
    theirs = [{A1: [103, 103.1]}, {A1: [114, 114.1]}]
    one = experiment(a=arm(ours[0]), b=arm(theirs[0])).compare("a", "b")
    two = experiment(a=arm(*ours), b=arm(*theirs))
    both = two.compare("a", "b")
    assert two.launch_variance_measured
    assert one is not None
    assert both is not None
    assert one.status is ComparisonStatus.WORSE
    assert both.status is ComparisonStatus.INCONCLUSIVE


def test_a_candidate_launched_once_takes_the_spread_of_the_others() -> None:
    arms = {name: arm({A1: [100.0]}, {A1: [104.0]}) for name in "abc"} | {"once": arm({A1: [140.0]})}
    ratio = experiment(**arms).compare("once", "a")
    assert ratio is not None
    assert ratio.interval is not None
    assert ratio.status is ComparisonStatus.BETTER


def test_more_candidates_ask_for_more_evidence() -> None:
    rng = np.random.default_rng(3)
    pair = {"a": arm({A1: [100, 101, 102, 100]}), "b": arm({A1: [102, 104, 103, 102.4]})}
    others = {f"o{i}": arm({A1: list(90 + rng.normal(0, 0.85, 4))}) for i in range(20)}
    alone, among = experiment(margin=0.005, **pair).compare("a", "b"), None
    among = experiment(margin=0.005, **pair, **others).compare("a", "b")
    assert alone is not None
    assert among is not None
    assert alone.status is ComparisonStatus.WORSE
    assert among.status is ComparisonStatus.INCONCLUSIVE


@given(st.lists(st.floats(10, 1000), min_size=2, max_size=6), st.lists(st.floats(10, 1000), min_size=2, max_size=6))
def test_swapping_the_sides_inverts_everything(ours: list[float], theirs: list[float]) -> None:
    both = experiment(a=arm({A1: ours}), b=arm({A1: theirs}))
    ab, ba = both.compare("a", "b"), both.compare("b", "a")
    assert ab is not None
    assert ba is not None
    assert ab.interval is not None
    assert ba.interval is not None
    assert ab.ratio * ba.ratio == pytest.approx(1)
    assert ab.interval[0] * ba.interval[1] == pytest.approx(1)
    assert ab.interval[0] <= ab.ratio <= ab.interval[1]
    opposite = {ComparisonStatus.BETTER: ComparisonStatus.WORSE, ComparisonStatus.WORSE: ComparisonStatus.BETTER}
    assert ba.status is opposite.get(ab.status, ab.status)


@given(st.floats(0.01, 100))
def test_the_unit_does_not_matter(unit: float) -> None:
    def measured(scale: float) -> Experiment:
        return experiment(a=arm({A1: [scale * v for v in (10, 11, 12)]}), b=arm({A1: [scale * v for v in (9, 10, 10)]}))

    plain, scaled = measured(1.0).compare("a", "b"), measured(unit).compare("a", "b")
    assert plain is not None
    assert scaled is not None
    assert scaled.ratio == pytest.approx(plain.ratio)
    assert scaled.interval == pytest.approx(plain.interval)


def test_scores_weigh_points_and_average_repeats() -> None:
    two = arm({A1: [100.0, 100.0], A4: [200.0, 800.0]}, {A1: [100.0], A4: [400.0]})
    weights = {A1: 0.5, A4: 0.5}
    assert launch_scores(two, weights) == pytest.approx([math.log(200), math.log(200)])
    assert len(repeat_scores(two, weights)) == 3


def test_rounds_of_repeats_end_with_the_point_that_has_fewest() -> None:
    assert len(repeat_scores(arm({A1: [1.0, 2.0, 3.0], A4: [1.0]}), {A1: 0.5, A4: 0.5})) == 1


def test_points_read_well() -> None:
    assert str(A4) == "a at concurrency 4"
    assert str(B1) == "b at 2 requests/s"
