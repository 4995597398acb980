"""From evidence to the result document."""

from __future__ import annotations

import pytest
from tests.unit.judge.campaigns import RANDOM, TEXT, campaign, candidate, point, points, spread, trial

from shakedown.domain.failure import Failure
from shakedown.domain.record import CandidateRecord
from shakedown.domain.words import ComparisonStatus, Objective, Stage, Standing, Verdict
from shakedown.judge import CampaignEvidence, judge
from shakedown.judge.step_cost import ForcedRun

A = candidate("baseline", {"x": 1}, {"x": "1"})
B = candidate("x=2", {"x": 2}, {"x": "2"})
C = candidate("x=3", {"x": 3}, {"x": "3"})


def test_nothing_ran_yet() -> None:
    result = judge(campaign([A, B], [], complete=False, wall_s=None))
    assert result.winner is None
    assert result.campaign.reference is None
    assert [c.verdict for c in result.candidates] == [Verdict.NOT_RUN, Verdict.NOT_RUN]
    assert (result.candidates[0].objective, result.candidates[0].boot_s, result.campaign.overhead_share) == (None,) * 3


def test_the_fastest_wins_and_the_others_stand_against_it() -> None:
    runs = [trial(A, points(100), number=1), trial(B, points(120), number=2), trial(C, points(119.8), number=3)]
    result = judge(campaign([A, B, C], runs))
    assert result.winner is not None
    assert (result.winner.id, result.winner.command) == (B.id, "serve x=2")
    assert {c.label: c.standing.status for c in result.candidates if c.standing} == {
        "baseline": Standing.SLOWER,
        "x=2": Standing.BEST,
        "x=3": Standing.EQUIVALENT,
    }
    assert [c.objective for c in result.candidates] == pytest.approx([1.0, 1.2, 1.198])
    assert result.candidates[1].objective_interval is not None
    assert result.candidates[1].launch_ratios == pytest.approx([1.2])
    pairs = {(c.a, c.b): c.status for c in result.comparisons}
    assert pairs[B.id, A.id] is ComparisonStatus.BETTER
    assert pairs[B.id, C.id] is ComparisonStatus.EQUIVALENT
    assert pairs[A.id, C.id] is ComparisonStatus.WORSE


def test_the_winners_reasons_name_gain_interval_rivals_and_losers() -> None:
    runs = [
        trial(A, points(100), number=1),
        trial(B, points(120), number=2),
        trial(C, number=3, verdict=Verdict.GARBAGE, reason="!!!!"),
    ]
    why = judge(campaign([A, B, C], runs)).winner
    assert why is not None
    told = (
        "+20 % output tokens/s",
        "reference baseline",
        "95 % interval 1.1",
        "2 load points",
        "Slower: baseline (-17 %)",
        "1 garbage",
        "variance between launches was not measured",
    )
    for words in told:
        assert words in why.why


def test_a_reference_that_nothing_beats_is_said_so() -> None:
    winner = judge(campaign([A, B], [trial(A, points(100)), trial(B, points(90), number=2)])).winner
    assert winner is not None
    assert winner.why.startswith("Nothing beat the reference baseline")


def test_a_lossy_candidate_wins_only_by_being_faster() -> None:
    lossy = CandidateRecord(candidate=B, lossy=("the KV cache is q8_0",))
    equal = judge(campaign([A, lossy], [trial(A, points(100)), trial(B, points(100.5), number=2)])).winner
    faster = judge(campaign([A, lossy], [trial(A, points(100)), trial(B, points(110), number=2)])).winner
    assert equal is not None
    assert faster is not None
    assert (equal.id, faster.id) == (A.id, B.id)
    assert "It is lossy: the KV cache is q8_0." in faster.why


def test_launches_of_a_candidate_are_taken_together() -> None:
    runs = [
        trial(of, points(speed), number=number)
        for number, (of, speed) in enumerate([(A, 100), (B, 111), (B, 109), (A, 101)], start=1)
    ]
    result = judge(campaign([A, B], runs))
    a, b = result.candidates
    assert (a.launches, b.launches) == (2, 2)
    assert len(b.points) == 12
    assert b.objective == pytest.approx((111 * 109 / 100 / 101) ** 0.5)
    assert b.launch_ratios == pytest.approx([111 / (100 * 101) ** 0.5, 109 / (100 * 101) ** 0.5])
    assert result.campaign.decision.launch_variance_measured


def test_only_finished_launches_count() -> None:
    half = trial(A, points(500), number=1).model_copy(update={"state": "broken", "outcome": None})
    result = judge(campaign([A], [half, trial(A, points(100), number=2)]))
    assert result.candidates[0].launches == 1
    assert len(result.candidates[0].points) == 6
    assert [t.verdict for t in result.trials] == [None, Verdict.QUALIFIED]


def test_points_of_a_crash_are_kept_and_not_judged() -> None:
    cut = point(concurrency=16, tokens_per_s=1.0, stop_reason="server_died")
    runs = [
        trial(A, points(100), number=1),
        trial(B, [*points(200), cut], number=2, verdict=Verdict.CRASHED, reason="died"),
    ]
    result = judge(campaign([A, B], runs))
    assert len(result.candidates[1].points) == 7
    assert result.candidates[1].objective is None
    assert result.winner is not None
    assert result.winner.id == A.id


def test_interrupted_points_do_not_count() -> None:
    cut = [point(concurrency=c, repeat=3, tokens_per_s=1.0, interrupted=True) for c in (1, 4)]
    runs = [trial(A, points(100), number=1), trial(B, [*points(100), *cut], number=2)]
    assert judge(campaign([A, B], runs)).candidates[1].objective == pytest.approx(1.0)


def test_workloads_weigh_as_the_file_says() -> None:
    heavy = RANDOM.model_copy(update={"weight": 3.0})
    fast = [*points(200, workloads=[TEXT]), *points(100, workloads=[RANDOM])]
    slow = points(100, workloads=[TEXT, RANDOM])
    result = judge(campaign([A, B], [trial(A, slow), trial(B, fast, number=2)], workloads=[TEXT, heavy]))
    assert result.candidates[1].objective == pytest.approx(2**0.25)


def test_disagreeing_workloads_are_compared_by_themselves() -> None:
    fast = [*points(200, workloads=[TEXT]), *points(80, workloads=[RANDOM])]
    slow = points(100, workloads=[TEXT, RANDOM])
    result = judge(campaign([A, B], [trial(A, slow), trial(B, fast, number=2)], workloads=[TEXT, RANDOM]))
    told = [(c.a, c.b, c.workload, c.status) for c in result.comparisons if c.workload]
    assert told == [(A.id, B.id, "random", ComparisonStatus.BETTER)]


@pytest.mark.parametrize(
    ("objective", "faster"),
    [
        (Objective.TTFT, {"ttft_s": spread(0.025)}),
        (Objective.PER_REQUEST_TOKENS_PER_S, {"per_request_tokens_per_s": 400.0}),
        (Objective.GOODPUT, {"goodput_requests_per_s": 2.0}),
    ],
)
def test_more_is_better_whatever_the_objective(objective: Objective, faster: dict) -> None:
    base = {"goodput_requests_per_s": 1.0}
    runs = [trial(A, points(100, **base), number=1), trial(B, points(100, **{**base, **faster}), number=2)]
    result = judge(campaign([A, B], runs, objective=objective))
    assert result.winner is not None
    assert result.winner.id == B.id


def test_no_goodput_at_all_loses_to_some() -> None:
    runs = [
        trial(A, points(100, goodput_requests_per_s=1.0), number=1),
        trial(B, points(200, goodput_requests_per_s=0.0), number=2),
    ]
    result = judge(campaign([A, B], runs, objective=Objective.GOODPUT))
    assert result.winner is not None
    assert result.winner.id == A.id
    # Half a request in five seconds stands for none.
    assert result.candidates[1].objective == pytest.approx(0.1)


def test_what_was_not_measured_is_null() -> None:
    runs = [trial(A, points(100), number=1), trial(B, points(100, output_tokens_per_s=None), number=2)]
    result = judge(campaign([A, B], runs))
    assert (result.candidates[1].objective, result.candidates[1].standing) == (None, None)


def test_the_overhead_is_what_was_neither_boot_checks_load_nor_shutdown() -> None:
    # Two trials of 2 s boot, 40 s load, 1 s shutdown each.
    result = judge(campaign([A, B], [trial(A, points(), number=1), trial(B, points(), number=2)], wall_s=100.0))
    assert result.campaign.overhead_share == pytest.approx(0.14)


def test_a_launch_with_acceptance_made_up_is_the_engines_time_too() -> None:
    forced = ForcedRun(candidate_id="b", draft_tokens=1, accept_length=1.5, points=(), seconds=10.0)
    runs = [trial(A, points(), number=1), trial(B, points(), number=2)]
    result = judge(campaign([A, B], runs, wall_s=100.0, forced_runs=[forced]))
    assert result.campaign.overhead_share == pytest.approx(0.04)


def test_a_boot_that_never_ended_is_boot_time() -> None:
    failed = trial(A, number=1, verdict=Verdict.FAILED, reason="no")
    assert judge(campaign([A], [failed], wall_s=59.0)).campaign.overhead_share == pytest.approx(0.0)


def test_a_candidate_carries_what_its_server_said() -> None:
    failure = Failure(category=None, signature="s", stage=Stage.BOOT, root_line="boom")
    runs = [
        trial(A, points(), number=1, effective={"max_running_requests": 4}),
        trial(B, number=2, verdict=Verdict.FAILED, reason="boom", failure=failure),
    ]
    a, b = judge(campaign([A, B], runs)).candidates
    assert (a.effective, a.boot_s, a.failure) == ({"max_running_requests": 4}, 2.0, None)
    assert (b.effective, b.boot_s, b.failure) == ({}, None, failure)


def test_judging_is_pure() -> None:
    evidence = campaign([A, B], [trial(A, points(100), number=1), trial(B, points(120), number=2)])
    again = CampaignEvidence.model_validate_json(evidence.model_dump_json())
    assert judge(evidence) == judge(again)


def test_of_many_candidates_only_telling_pairs_are_compared() -> None:
    many = [candidate(f"{i}", {"x": i, "y": i}, {"x": str(i), "y": str(i)}) for i in range(18)]
    runs = [trial(c, points(100 + i), number=i + 1) for i, c in enumerate(many)]
    result = judge(campaign(many, runs))
    assert result.winner is not None
    anchors = {result.winner.id, result.campaign.reference}
    assert all({c.a, c.b} & anchors for c in result.comparisons)
    assert len(result.comparisons) == 17 + 16
