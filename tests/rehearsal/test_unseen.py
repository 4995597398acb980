"""What the plan cannot know the log must say; and the FP8 cache on prompts too short for it to harm."""

from __future__ import annotations

import pytest
from tests.rehearsal.told import Told, rehearse

from shakedown.domain.words import Category, FindingKind, Stage, Verdict

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def unseen(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return rehearse(tmp_path_factory.mktemp("unseen"), "unseen")


def test_kernels_for_another_chip_are_named_by_the_log(unseen: Told) -> None:
    first = next(c for c in unseen.launched(moe="flashinfer_trtllm"))
    assert first.verdict is Verdict.FAILED
    assert first.failure is not None
    assert (first.failure.category, first.failure.stage) == (Category.ARCH_MISMATCH, Stage.BOOT)
    assert "10.x" in first.reason
    assert "SM 120" in first.reason
    assert not [c for c in unseen.with_settings(moe="flashinfer_trtllm") if c.verdict is Verdict.QUALIFIED]


def test_the_fp8_cache_is_not_inaccurate_at_short_lengths_and_is_named_lossy(unseen: Told) -> None:
    (short,) = unseen.with_settings(moe="flashinfer_cutlass", kv="auto")
    assert short.verdict is Verdict.QUALIFIED
    assert any("asks for FP8" in sentence for sentence in short.lossy)
    assert any(short.id in finding.candidates for finding in unseen.findings(FindingKind.LOSSY_SETTING))
    assert unseen.result.campaign.reference == unseen.with_settings(moe="flashinfer_cutlass", kv="bf16")[0].id
