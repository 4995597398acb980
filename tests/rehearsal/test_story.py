"""The whole story, unattended, from one file: every sentence of it must come by itself.

Minutes long, so it is run by hand (``pytest -m slow tests/rehearsal/test_story.py``), best with nothing beside it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rehearsal.lines import unknown_lines
from tests.rehearsal.told import Told, rehearse

from shakedown.domain.result import Finding
from shakedown.domain.words import Category, CheckVerdict, FindingKind, Stage, Verdict

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return rehearse(tmp_path_factory.mktemp("story"), "story")


def speculation_on(told: Told, workload: str) -> Finding:
    found = [f for f in told.findings(FindingKind.SPECULATION) if f.evidence["workload"] == workload]
    assert len(found) == 1
    return found[0]


def test_kernels_built_for_sm100_are_known_before_launch(story: Told) -> None:
    trtllm = story.with_settings(moe="flashinfer_trtllm")
    assert {candidate.verdict for candidate in trtllm} == {Verdict.PRUNED}
    assert all("SM100" in candidate.reason and candidate.rule_sources for candidate in trtllm)
    assert not story.launched(moe="flashinfer_trtllm")


def test_a_healthy_server_that_answers_garbage_is_rejected(story: Told) -> None:
    verdicts = story.verdicts(moe="flashinfer_cutedsl")
    assert Verdict.GARBAGE in verdicts
    assert Verdict.QUALIFIED not in verdicts


def test_two_gemm_backends_are_equivalent_and_the_flag_had_nothing_to_act_on(story: Told) -> None:
    (equal,) = (f for f in story.findings(FindingKind.EQUIVALENT) if f.evidence["dimension"] == "fp4")
    assert all(pair["interval"] is not None for pair in equal.evidence["pairs"])
    assert "interval" in equal.summary
    assert any("FP4 tensors outside the routed experts" in f.summary for f in story.findings(FindingKind.INERT_FLAG))


def test_an_fp8_cache_without_scales_is_inaccurate_at_the_workloads_length_and_not_at_short_ones(story: Told) -> None:
    verdicts = story.verdicts(kv="auto")
    assert Verdict.INACCURATE in verdicts
    assert Verdict.QUALIFIED not in verdicts
    drifting = next(c for c in story.launched(kv="auto") if c.verdict is Verdict.INACCURATE)
    check = next(check for check in drifting.checks if check.verdict is CheckVerdict.FAIL)
    assert check.name == "drift_from_reference"
    short, *_, long = check.evidence["buckets"]
    assert short["mean_kl"] < check.evidence["limit"] / 10
    assert long["mean_kl"] > check.evidence["limit"]


def test_the_crash_of_nextn_is_understood_mended_and_tried_again(story: Told) -> None:
    failed = [c for c in story.launched(speculation="nextn") if c.verdict is Verdict.FAILED]
    assert failed
    for candidate in failed:
        assert candidate.failure is not None
        assert candidate.failure.signature == "sglang-spec-needs-extra-buffer"
        assert "DeepGemm" not in (candidate.failure.root_line or "")
        mended = next(c for c in story.result.candidates if c.id == candidate.mended_by)
        assert mended.args["mamba-scheduler-strategy"] == "extra_buffer"
        assert mended.derived_from == candidate.id
    assert any(c.verdict is Verdict.QUALIFIED for c in story.launched(speculation="nextn"))


def test_speculation_pays_on_prose_and_not_on_random_tokens_with_lengths_and_break_even(story: Told) -> None:
    prose, random = speculation_on(story, "prose").evidence, speculation_on(story, "random-tokens").evidence
    assert prose["accept_length"] == pytest.approx(3.25, abs=0.25)
    assert random["accept_length"] == pytest.approx(1.15, abs=0.15)
    for told in (prose, random):
        assert told["break_even_accept_length"] == pytest.approx(1.42, abs=0.1)
    assert prose["gain_measured"] > 0.5
    assert random["gain_measured"] <= 0


def test_draft_lengths_are_predicted_from_launches_that_are_no_candidates(story: Told) -> None:
    told = speculation_on(story, "prose").evidence
    assert {one["draft_tokens"] for one in told["predicted"]} == {1, 2, 3, 4, 5}
    asked = [one for one in told["predicted"] if one["draft_tokens"] == 3 and one["concurrency"] == 1]
    measured = next(level for level in told["by_concurrency"] if level["concurrency"] == 1)
    assert asked[0]["accept_length"] == pytest.approx(measured["accept_length"], abs=0.05)
    assert not any("SGLANG_SIMULATE_ACC_LEN" in candidate.env for candidate in story.result.candidates)


def test_the_cap_that_speculation_sets_silently_is_said(story: Told) -> None:
    found = story.findings(FindingKind.SILENT_CAP)
    assert found
    assert {finding.evidence["cap"] for finding in found} == {48}
    speculating = {candidate.id for candidate in story.with_settings(speculation="nextn")}
    assert {candidate for finding in found for candidate in finding.candidates} <= speculating


def test_a_flag_that_does_nothing_is_inert_and_no_tie(story: Told) -> None:
    (inert,) = (f for f in story.findings(FindingKind.INERT_FLAG) if f.evidence.get("dimension") == "mscclpp")
    assert "changed nothing" in inert.summary
    assert not [f for f in story.findings(FindingKind.EQUIVALENT) if f.evidence["dimension"] == "mscclpp"]


def test_a_hang_in_graph_capture_is_ended_by_the_stall_limit(story: Told) -> None:
    assert story.verdicts(attention="flashinfer") <= {Verdict.HUNG, Verdict.FAILED, Verdict.GARBAGE}
    hung = [c for c in story.launched(attention="flashinfer") if c.verdict is Verdict.HUNG]
    assert hung
    assert all(c.failure and c.failure.category is Category.HANG and c.failure.stage is Stage.BOOT for c in hung)


def test_a_death_under_load_is_classified_and_lighter_loads_are_kept(story: Told) -> None:
    (crashed,) = (c for c in story.launched(memory="0.95") if c.verdict is Verdict.CRASHED)
    assert crashed.failure is not None
    assert (crashed.failure.category, crashed.failure.stage) == (Category.DEVICE_OUT_OF_MEMORY, Stage.LOAD)
    kept = {(point.workload, point.concurrency) for point in crashed.points if point.ok}
    assert {("prose", 1), ("prose", 8), ("crowd", 64)} <= kept
    assert ("crowd", 512) not in kept


def test_the_winner_speculates_with_a_16_bit_cache_and_can_be_started(story: Told) -> None:
    assert story.result.winner is not None
    winner = next(c for c in story.result.candidates if c.id == story.result.winner.id)
    wanted = {
        "moe": "flashinfer_cutlass",
        "kv": "bf16",
        "speculation": "nextn",
        "attention": "triton",
        "memory": "0.85",
    }
    assert {name: winner.settings[name] for name in wanted} == wanted
    assert "--mamba-scheduler-strategy extra_buffer" in story.result.winner.command
    assert story.findings(FindingKind.BOTTLENECK)


@pytest.mark.parametrize(
    "kind",
    [
        FindingKind.SUSPICIOUS_NULL,
        FindingKind.NOT_IN_EFFECT,
        FindingKind.UNEXPLAINED_DIFFERENCE,
        FindingKind.STALE_PROCESS,
        FindingKind.BEYOND_CEILING,
        FindingKind.PROMPTS_REPEATED,
        FindingKind.EARLY_STOPS,
        FindingKind.REFERENCE_CHANGED,
        FindingKind.LOSSY_SETTING,
        FindingKind.BUDGET_EXHAUSTED,
    ],
)
def test_what_did_not_happen_is_not_said(story: Told, kind: FindingKind) -> None:
    assert [finding.summary for finding in story.findings(kind)] == []


def test_every_line_of_its_logs_occurs_in_a_real_one(story: Told) -> None:
    assert unknown_lines(story.logs()) == []


def test_the_campaign_leaves_what_it_needs_to_be_believed(story: Told) -> None:
    assert (story.folder / "report.html").exists()
    assert (Path(story.result.campaign.folder) / "shakedown.sqlite").exists()
