"""The verdict of a candidate over all of its launches."""

from tests.unit.judge.campaigns import candidate, points, trial

from shakedown.domain.failure import Failure
from shakedown.domain.record import CandidateRecord
from shakedown.domain.words import Stage, Verdict
from shakedown.judge import decide_verdict

A = candidate("baseline")
RECORD = CandidateRecord(candidate=A, verdict=Verdict.NOT_RUN, reason="not yet")
FAILURE = Failure(category=None, signature="port", stage=Stage.BOOT, root_line="address in use")


def test_without_a_finished_launch_the_record_speaks() -> None:
    running = trial(A).model_copy(update={"state": "running", "outcome": None})
    assert decide_verdict(RECORD, [running]) == (Verdict.NOT_RUN, "not yet", None)


def test_one_launch_speaks_for_itself() -> None:
    plain = RECORD.model_copy(update={"reason": ""})
    decision = decide_verdict(plain, [trial(A, verdict=Verdict.FAILED, reason="no", failure=FAILURE)])
    assert decision == (Verdict.FAILED, "no", FAILURE)


def test_what_was_learnt_of_a_failure_is_said_with_it_and_of_a_success_is_not() -> None:
    refused = RECORD.model_copy(update={"reason": "its remedy would change what is compared"})
    failed = decide_verdict(refused, [trial(A, verdict=Verdict.FAILED, reason="no", failure=FAILURE)])
    assert failed.reason == "no; its remedy would change what is compared"
    assert decide_verdict(refused, [trial(A, points())]).reason != failed.reason
    assert refused.reason not in decide_verdict(refused, [trial(A, points())]).reason


def test_a_failed_start_is_forgiven_when_a_later_launch_qualified_and_is_said() -> None:
    failed = trial(A, number=1, verdict=Verdict.FAILED, reason="port taken", failure=FAILURE)
    verdict, reason, failure = decide_verdict(RECORD, [failed, trial(A, points(), number=2)])
    assert (verdict, failure) == (Verdict.QUALIFIED, None)
    assert "1 of 2 launches" in reason
    assert "port taken" in reason


def test_one_crash_decides_whatever_the_other_launches_did() -> None:
    crashed = trial(A, number=1, verdict=Verdict.CRASHED, reason="died at 512", failure=FAILURE)
    verdict, reason, failure = decide_verdict(RECORD, [crashed, trial(A, points(), number=2)])
    assert (verdict, failure) == (Verdict.CRASHED, FAILURE)
    assert reason.startswith("died at 512 (1 of 2 launches")


def test_pruned_stays_pruned_with_the_proof_of_its_launch() -> None:
    pruned = RECORD.model_copy(update={"verdict": Verdict.PRUNED, "reason": "rule"})
    assert decide_verdict(pruned, []) == (Verdict.PRUNED, "rule", None)
    launched = trial(A, verdict=Verdict.FAILED, reason="no", failure=FAILURE)
    assert decide_verdict(pruned, [launched]) == (Verdict.PRUNED, "rule", FAILURE)
