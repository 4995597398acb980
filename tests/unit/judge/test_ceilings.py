"""The plan's bounds, held against the workloads they were computed for."""

from tests.unit.judge.campaigns import RANDOM, TEXT, campaign, candidate, points, trial

from shakedown.domain.words import FindingKind
from shakedown.judge import judge
from shakedown.judge.ceilings import planned_ceilings
from shakedown.plan.ceiling import Ceiling, CeilingPoint, SpeculationCeiling

A = candidate("baseline")
LONG = RANDOM.model_copy(update={"input_tokens": 4096})


def planned(tokens_per_s: float, speculating: float | None = None) -> Ceiling:
    speculation = None
    if speculating is not None:
        speculation = SpeculationCeiling(
            draft_tokens=1, step_s=0.01, break_even_accept_length=1.1, output_tokens_per_s=speculating
        )
    point = CeilingPoint(
        concurrency=1, output_tokens_per_s=tokens_per_s, step_s=0.01, weights_bytes=1, cache_bytes=1,
        experts_touched=None, all_reduce_s=0.0, speculation=speculation,
    )  # fmt: skip
    return Ceiling(candidates=(A.id,), points=(point,), assumptions=("4.8 TB/s",))


def beyond(ceiling: Ceiling, speed: float) -> bool:
    both = [TEXT, LONG]
    evidence = campaign(
        [A],
        [trial(A, points(speed, workloads=both))],
        workloads=both,
        ceilings=planned_ceilings([ceiling], both),
    )
    return any(finding.kind is FindingKind.BEYOND_CEILING for finding in judge(evidence).findings)


def test_a_bound_holds_for_the_longest_workload_only() -> None:
    (bound,) = planned_ceilings([planned(80)], [TEXT, LONG])
    assert (bound.workload, bound.concurrency, bound.candidate_id) == ("random", 1, A.id)
    assert bound.explanation == "4.8 TB/s"


def test_a_point_is_held_against_it() -> None:
    assert beyond(planned(80), 100)
    assert not beyond(planned(120), 100)


def test_a_speculating_candidate_may_reach_what_all_drafts_accepted_give() -> None:
    assert not beyond(planned(80, speculating=150), 100)
    assert beyond(planned(80, speculating=90), 100)
