"""The scenes in vLLM's dialect: other flags, other words, other counters, the same sentences."""

from __future__ import annotations

import pytest
from tests.rehearsal.lines import unknown_lines
from tests.rehearsal.told import Told, rehearse

from shakedown.domain.words import Category, CheckVerdict, FindingKind, Stage, Verdict

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return rehearse(tmp_path_factory.mktemp("vllm"), "vllm")


def test_kernels_for_sm100_are_pruned_and_garbage_is_rejected(told: Told) -> None:
    assert all("SM100" in c.reason for c in told.with_settings(moe="flashinfer_trtllm"))
    assert {c.verdict for c in told.with_settings(moe="flashinfer_trtllm")} == {Verdict.PRUNED}
    assert Verdict.GARBAGE in told.verdicts(moe="flashinfer_cutedsl")


def test_the_fp8_cache_drifts_with_length_and_is_lossy(told: Told) -> None:
    drifting = [c for c in told.launched(kv="fp8") if c.verdict is Verdict.INACCURATE]
    assert drifting
    assert all(c.lossy for c in told.with_settings(kv="fp8"))
    check = next(check for check in drifting[0].checks if check.verdict is CheckVerdict.FAIL)
    assert check.evidence["buckets"][0]["mean_kl"] < check.evidence["buckets"][-1]["mean_kl"] / 5


def test_speculation_by_vllms_counters(told: Told) -> None:
    found = {f.evidence["workload"]: f.evidence for f in told.findings(FindingKind.SPECULATION)}
    assert found["prose"]["accept_length"] == pytest.approx(3.25, abs=0.25)
    assert found["random-tokens"]["accept_length"] == pytest.approx(1.15, abs=0.15)
    assert found["prose"]["gain_measured"] > 0.5 > 0 >= found["random-tokens"]["gain_measured"]
    assert found["prose"]["predicted"]


def test_an_inert_flag_a_silent_cap_a_hang_and_a_death(told: Told) -> None:
    assert [f for f in told.findings(FindingKind.INERT_FLAG) if f.evidence.get("dimension") == "all-reduce"]
    assert {f.evidence["cap"] for f in told.findings(FindingKind.SILENT_CAP)} == {256}
    assert Verdict.HUNG in told.verdicts(attention="FLASHINFER")
    (crashed,) = (c for c in told.launched(memory="0.98") if c.verdict is Verdict.CRASHED)
    assert crashed.failure is not None
    assert (crashed.failure.category, crashed.failure.stage) == (Category.DEVICE_OUT_OF_MEMORY, Stage.LOAD)
    assert {p.concurrency for p in crashed.points if p.ok} >= {1, 8, 64}


def test_the_winner_speculates(told: Told) -> None:
    assert told.result.winner is not None
    winner = next(c for c in told.result.candidates if c.id == told.result.winner.id)
    wanted = {"moe": "flashinfer_cutlass", "kv": "bfloat16", "speculation": "mtp", "attention": "TRITON_ATTN"}
    assert {name: winner.settings[name] for name in wanted} == wanted


def test_every_line_of_its_logs_occurs_in_a_real_one(told: Told) -> None:
    assert unknown_lines(told.logs()) == []
