from shakedown.domain.events import Event, PhaseReached, PointFinished, PointStarted, TrialFinished
from shakedown.domain.metric import ClientProof, PointSummary
from shakedown.domain.record import TrialRecord, fold_events
from shakedown.domain.words import Verdict

POINT = PointSummary(
    workload="w", concurrency=1, requests=1, ok=1, duration_s=1.0, output_tokens=1, output_tokens_per_s=1.0,
    per_request_tokens_per_s=1.0, requests_per_s=1.0, ttft_s=None, itl_s=None, tpot_s=None, e2el_s=None,
    client=ClientProof(cpu_s=0.0, send_lateness_s=None, loop_lag_s=None, limited=False),
)  # fmt: skip


def started(at: float) -> PointStarted:
    return PointStarted(at=at, workload="w", concurrency=1, request_rate=None, repeat=0, requests=1)


def finished(at: float, file: str | None = "r.parquet") -> PointFinished:
    return PointFinished(at=at, point=POINT, records_file=file)


def fold(*events: Event) -> TrialRecord:
    return fold_events(
        trial_id="t", candidate_id="c", state="running", begun_at=0.0, ended_at=None, events=list(events)
    )


def test_nothing_told_is_nothing_known() -> None:
    record = fold()
    assert (record.started, record.ready, record.outcome, record.points, record.load_s) == (None, None, None, (), 0.0)


def test_load_time_is_from_the_start_to_the_end_of_points() -> None:
    assert fold(started(10), finished(14), started(20), finished(21)).load_s == 5.0


def test_a_point_that_never_ended_and_a_clock_stepped_back_add_nothing() -> None:
    assert fold(started(10), finished(9), started(20)).load_s == 0.0


def test_points_and_their_files_stay_together() -> None:
    record = fold(finished(1, "a"), finished(2, None))
    assert record.points == (POINT, POINT)
    assert record.records_files == ("a", None)


def test_the_last_word_counts() -> None:
    first = TrialFinished(at=1, verdict=Verdict.FAILED, reason="x")
    last = first.model_copy(update={"verdict": Verdict.QUALIFIED})
    assert fold(first, last).outcome == last
    assert fold(PhaseReached(at=1, phase="a", elapsed_s=1), PhaseReached(at=2, phase="b", elapsed_s=2)).phases == (
        ("a", 1.0),
        ("b", 2.0),
    )
