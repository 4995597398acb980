from hypothesis import given
from hypothesis import strategies as st
from tests.unit.judge.campaigns import TEXT, campaign, candidate, point, spread, trial

from shakedown.domain.words import Verdict
from shakedown.judge import judge

A = candidate("a", {"x": 1}, {"x": "1"})
B = candidate("b", {"x": 2}, {"x": "2"})


def level(concurrency: int, tokens_per_s: float, latency_s: float, repeat: int = 0) -> object:
    return point(TEXT.name, concurrency, repeat, tokens_per_s, e2el_s=spread(latency_s))


def test_what_is_beaten_in_both_is_not_in_the_set() -> None:
    first = trial(A, [level(1, 100.0, 1.0), level(4, 200.0, 3.0)], number=1)
    second = trial(B, [level(1, 90.0, 0.5), level(4, 300.0, 2.0)], number=2)
    result = judge(campaign([A, B], [first, second]))
    assert [(one.candidate, one.concurrency) for one in result.pareto] == [(B.id, 1), (A.id, 1), (B.id, 4)]


def test_only_qualified_candidates_stand_in_the_set() -> None:
    good = trial(A, [level(1, 100.0, 1.0)], number=1)
    wrong = trial(B, [level(1, 900.0, 0.1)], number=2, verdict=Verdict.GARBAGE)
    assert {one.candidate for one in judge(campaign([A, B], [good, wrong])).pareto} == {A.id}


def test_the_objective_says_how_points_become_one_number() -> None:
    result = judge(campaign([A], [trial(A, [level(1, 100.0, 1.0)], number=1)]))
    assert "geometric mean" in result.campaign.decision.aggregate


@given(st.lists(st.tuples(st.floats(1, 1000), st.floats(0.01, 10)), min_size=1, max_size=6))
def test_every_level_is_in_the_set_or_beaten_by_one_that_is(levels: list[tuple[float, float]]) -> None:
    points = [level(number, speed, latency) for number, (speed, latency) in enumerate(levels, start=1)]
    front = judge(campaign([A], [trial(A, points, number=1)])).pareto
    kept = {one.concurrency for one in front}
    for number, (speed, latency) in enumerate(levels, start=1):
        beaten = any(o.output_tokens_per_s >= speed * 0.999 and o.e2el_p50_s <= latency * 1.001 for o in front)
        assert number in kept or beaten
    speeds = [one.output_tokens_per_s for one in front]
    assert speeds == sorted(speeds)
