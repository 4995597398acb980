import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.scripted_place import point

from shakedown.domain.metric import PointSummary
from shakedown.domain.trial import Race
from shakedown.domain.words import Objective
from shakedown.domain.workload import LoadLevel, PointPlan, Workload
from shakedown.judge.race import lost, race_against


def measured(concurrency: int, tokens_per_s: float, repeat: int = 0, workload: str = "w") -> PointSummary:
    level = LoadLevel(concurrency=concurrency)
    plan = PointPlan(workload=Workload(name=workload), level=level, repeat=repeat, requests=4)
    return point(plan, tokens_per_s)


def race(
    *points: PointSummary, launches: int = 1, spread: float = 0.02, weights: dict[str, float] | None = None
) -> Race:
    found = race_against(
        "best",
        points,
        launches=launches,
        launch_spread=spread,
        objective=Objective.OUTPUT_TOKENS_PER_S,
        workload_weights=weights or {},
    )
    assert found is not None
    return found


def test_a_candidate_far_below_the_incumbent_is_out_and_one_beside_it_is_not() -> None:
    against = race(measured(1, 100.0))
    assert lost(against, [measured(1, 97.0)]) is None
    assert lost(against, [measured(1, 130.0)]) is None
    said = lost(against, [measured(1, 70.0)])
    assert said is not None
    assert "70 % of best" in said


def test_a_point_that_was_not_measured_may_be_the_one_that_it_is_good_at() -> None:
    against = race(measured(1, 100.0), measured(8, 100.0))
    assert lost(against, [measured(1, 10.0)]) is None
    assert lost(against, [measured(1, 10.0), measured(8, 100.0)]) is not None


def test_what_counts_is_the_objective_over_all_points() -> None:
    against = race(measured(1, 100.0), measured(8, 100.0))
    assert lost(against, [measured(1, 50.0), measured(8, 200.0)]) is None


def test_workloads_count_by_their_weights() -> None:
    against = race(measured(1, 100.0, workload="a"), measured(1, 100.0, workload="b"), weights={"a": 9.0, "b": 1.0})
    assert lost(against, [measured(1, 110.0, workload="a"), measured(1, 60.0, workload="b")]) is None
    assert lost(against, [measured(1, 60.0, workload="a"), measured(1, 110.0, workload="b")]) is not None


@given(
    speed=st.floats(1, 1000),
    spread=st.floats(0.001, 0.2),
    launches=st.integers(1, 20),
    repeats=st.lists(st.floats(80, 120), min_size=1, max_size=4),
)
def test_more_is_forgiven_where_launches_and_repeats_scatter_more(
    speed: float, spread: float, launches: int, repeats: list[float]
) -> None:
    points = [measured(1, value, repeat) for repeat, value in enumerate(repeats)]
    narrow = race(*points, launches=launches, spread=spread)
    wide = race(*points, launches=1, spread=spread * 2)
    assert narrow.allowance >= 1.64 * spread
    if lost(wide, [measured(1, speed)]) is not None:
        assert lost(narrow, [measured(1, speed)]) is not None


def test_without_a_measured_incumbent_there_is_no_race() -> None:
    assert (
        race_against("best", [], launches=1, launch_spread=0.02, objective=Objective.TTFT, workload_weights={}) is None
    )


def test_a_bar_is_the_mean_of_logarithms() -> None:
    against = race(measured(1, 100.0), measured(1, 400.0, 1))
    assert against.bars[0].merit == pytest.approx(math.log(200.0))
