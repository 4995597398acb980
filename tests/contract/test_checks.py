"""What every check owes: found by itself, named, in order, silent on a clean server, and each fault caught by name."""

import json
import re
from functools import cache

import pytest
from tests.fakes.checks_dialects import LLAMA, VLLM
from tests.fakes.faulty_server import FAULTS, FaultyServer

from shakedown.checks.registry import checks, checks_for
from shakedown.checks.runner import run_checks
from shakedown.domain.trial import Gates
from shakedown.domain.words import CheckVerdict, GateLevel, Verdict
from shakedown.domain.workload import Target


def run(server, level="standard", engine=LLAMA, **gates):
    target = Target(base_url=server.url, model="toy", request_timeout_s=5)
    seen = []
    report = run_checks(target, engine, Gates(level=level, context_tokens=300, **gates), on_result=seen.append)
    assert list(report.checks) == seen
    return report


pytestmark = pytest.mark.timeout(600)  # hundreds of small requests: minutes on a machine that does something else too


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """Gives the report and the file of a clean server's reference as an engine's adapter sees it; written once each."""
    folder = tmp_path_factory.mktemp("reference")

    @cache
    def written(engine):
        file = str(folder / f"{engine.kind.value}.json")
        with FaultyServer(reasons=True, slots=8) as server:
            return run(server, engine=engine, write_reference=True, reference_file=file), file

    return written


@pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)
def test_a_check_says_what_it_is(check):
    assert re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", check.name)
    assert type(check).__module__.endswith(f".{check.name}")
    assert check.fails_as in (Verdict.GARBAGE, Verdict.INACCURATE)
    assert (type(check).__doc__ or __import__(type(check).__module__, fromlist=["x"]).__doc__).strip()


def test_names_are_unique_and_rungs_ascend():
    names = [check.name for check in checks()]
    assert len(names) == len(set(names)) >= 15
    rungs = [check.rung for check in checks()]
    assert rungs == sorted(rungs)


def test_each_level_contains_the_one_before():
    quick, standard, thorough = (set(checks_for(level)) for level in GateLevel)
    assert quick < standard <= thorough


@pytest.mark.parametrize("engine", [LLAMA, VLLM], ids=["probes", "prompt"])
def test_a_clean_server_passes_every_check(engine, reference):
    written, file = reference(engine)
    with FaultyServer(reasons=True, slots=8) as server:
        compared = run(server, engine=engine, reference_file=file)
    for report in (written, compared):
        assert [r for r in report.checks if r.verdict is not CheckVerdict.PASS] == []
        assert [r.name for r in report.checks] == [check.name for check in checks_for(GateLevel.STANDARD)]
        json.dumps([r.evidence for r in report.checks], allow_nan=False)


@pytest.mark.slow
def test_a_clean_server_passes_the_thorough_ladder(tmp_path):
    file = str(tmp_path / "toy.json")
    with FaultyServer(reasons=True, slots=8) as server:
        for write in (True, False):
            report = run(server, level="thorough", write_reference=write, reference_file=file)
            assert [r for r in report.checks if r.verdict is not CheckVerdict.PASS] == []


CAUGHT = {
    "exclamation": ("quick", "token_runs"),
    "one_word": ("quick", "token_runs"),
    "empty": ("quick", "not_empty"),
    "nan_logprobs": ("quick", "finite_logprobs"),
    "nan_after_prefix_hit": ("quick", "prefix_cache"),
    "wrong_in_mixed_batch": ("standard", "mixed_batch"),
    "crash_with_two": ("quick", "mixed_batch"),
    "one_answer": ("quick", "different_answers"),
    "tool_json_with_several_tokens": ("standard", "tool_calls"),
    "schema_ignored": ("standard", "structured_output"),
    "cut_utf8": ("quick", "utf8_whole"),
    "raw_utf8": ("quick", "utf8_whole"),
    "usage_off_by_one": ("quick", "usage_counts"),
    "slot_leak": ("quick", "cancelled_streams"),
    "wrong_stop_reason": ("quick", "stop_reasons"),
    "stream_drops_pieces": ("quick", "stream_equals_whole"),
    "reasoning_in_text": ("standard", "reasoning_field"),
    "stale_state_while_decoding": ("standard", "decode_against_prefill"),
    "short_context": ("quick", "context_length"),
}
"""Faults that show without a reference, the level that is asked for, the check that must name them."""


@pytest.mark.parametrize("fault", CAUGHT)
def test_a_fault_is_caught_by_name(fault):
    level, name = CAUGHT[fault]
    with FaultyServer(fault=fault, reasons=True, slots=64 if fault == "wrong_in_mixed_batch" else 8) as server:
        report = run(server, level=level)
    assert report.verdict is CheckVerdict.FAIL
    assert report.checks[-1].name == name, report.checks[-1].summary
    assert report.checks[-1].evidence


@pytest.mark.parametrize(
    ("fault", "name"),
    [("other_template", "chat_template"), ("forgot_its_tasks", "exact_tasks"), ("exclamation", "token_runs")],
)
def test_a_fault_that_only_the_reference_shows_is_caught_by_name(fault, name, reference):
    with FaultyServer(fault=fault, reasons=True) as server:
        report = run(server, reference_file=reference(LLAMA)[1])
    assert report.checks[-1].name == name, report.checks[-1].summary
    assert report.verdict is CheckVerdict.FAIL


def test_every_scripted_fault_is_covered():
    assert set(FAULTS) == {*CAUGHT, "other_template", "forgot_its_tasks", "drift_beyond_4000"}
