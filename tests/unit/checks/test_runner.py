import pytest
from tests.fakes.checks_dialects import LLAMA
from tests.fakes.faulty_server import FaultyServer

from shakedown.checks.runner import run_checks
from shakedown.domain.errors import UserError
from shakedown.domain.trial import Gates
from shakedown.domain.words import CheckVerdict
from shakedown.domain.workload import Target


def run(server, *, model="toy", should_stop=None, engine=LLAMA, seen=None, **gates):
    target = Target(base_url=server.url, model=model, request_timeout_s=5)
    wanted = Gates(context_tokens=128, **gates)
    results = [] if seen is None else seen
    return run_checks(target, engine, wanted, on_result=results.append, should_stop=should_stop)


@pytest.fixture(scope="module")
def clean():
    with FaultyServer(slots=4) as server:
        yield server


def test_the_ladder_stops_at_the_first_failure():
    with FaultyServer(fault="one_answer") as server:
        report = run(server)
    assert [result.name for result in report.checks] == ["context_length", "different_answers"]
    assert report.verdict is CheckVerdict.FAIL


def test_a_check_that_is_left_out_is_said_to_be_and_the_next_is_asked():
    with FaultyServer(fault="one_answer") as server:
        report = run(server, skip=("different_answers",))
    left_out = next(result for result in report.checks if result.name == "different_answers")
    assert left_out.verdict is CheckVerdict.SKIPPED
    assert "not asked" in left_out.summary
    assert report.checks[-1].name != "different_answers"


def test_a_reference_is_written_then_read(clean, tmp_path):
    file = str(tmp_path / "folder" / "r.json")
    run(clean, write_reference=True, reference_file=file)
    report = run(clean, reference_file=file)
    assert report.verdict is CheckVerdict.PASS
    assert next(r for r in report.checks if r.name == "drift_from_reference").evidence["mean_kl"] < 1e-9


def test_a_server_that_fails_writes_no_reference(tmp_path):
    with FaultyServer(fault="exclamation") as server:
        report = run(server, write_reference=True, reference_file=str(tmp_path / "r.json"))
    assert report.verdict is CheckVerdict.FAIL
    assert list(tmp_path.iterdir()) == []


def test_a_reference_of_another_model_is_refused(clean, tmp_path):
    file = str(tmp_path / "r.json")
    run(clean, write_reference=True, reference_file=file)
    with pytest.raises(UserError, match=r"of model 'toy'.*'other'"):
        run(clean, reference_file=file, model="other")


def test_a_missing_or_damaged_reference_names_the_file_and_the_mend(clean, tmp_path):
    (tmp_path / "bad.json").write_text('{"schema": "shakedown-reference/1"}')
    with pytest.raises(UserError, match=r"none\.json.*--write-reference"):
        run(clean, reference_file=str(tmp_path / "none.json"))
    with pytest.raises(UserError, match=r"bad\.json.*model"):
        run(clean, reference_file=str(tmp_path / "bad.json"))


def test_writing_without_a_file_is_a_mistake_that_is_told(clean):
    with pytest.raises(UserError, match="reference_file"):
        run(clean, write_reference=True)


def test_a_server_that_dies_fails_the_check_that_was_asking():
    with FaultyServer() as server:
        target = server.url
    report = run_checks(Target(base_url=target, model="toy"), None, Gates(), on_result=lambda result: None)
    assert report.verdict is CheckVerdict.FAIL
    assert "no usable answer" in report.checks[-1].summary


def test_stopping_keeps_what_was_finished_and_decides_nothing(clean):
    seen = []
    report = run(clean, seen=seen, should_stop=lambda: len(seen) >= 3)
    assert report.verdict is CheckVerdict.SKIPPED
    assert 3 <= len(report.checks) < 10


def test_an_unknown_engine_is_checked_as_far_as_it_goes(clean):
    report = run(clean, engine=None)
    verdicts = {result.name: result.verdict for result in report.checks}
    assert report.verdict is CheckVerdict.PASS
    assert verdicts["drift_from_reference"] is CheckVerdict.SKIPPED
    assert verdicts["token_runs"] is CheckVerdict.PASS
