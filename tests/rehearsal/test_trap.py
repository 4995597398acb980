"""The trap of the story's sixth scene, small enough for every run of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rehearsal.lines import unknown_lines
from tests.rehearsal.told import Told, rehearse

from shakedown.domain.words import FindingKind, Verdict

"""One worker runs the campaign once, for all tests of this file."""


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return rehearse(tmp_path_factory.mktemp("trap"), "trap")


def test_one_server_measured_as_baseline_and_as_nextn_is_a_question_and_no_null(trapped: Told) -> None:
    assert trapped.verdicts() == {Verdict.QUALIFIED}
    (null,) = trapped.findings(FindingKind.SUSPICIOUS_NULL)
    assert "Drafts were counted in both" in null.summary
    (contradicted,) = trapped.findings(FindingKind.NOT_IN_EFFECT)
    assert "was not asked to speculate" in contradicted.summary
    assert contradicted.candidates == (trapped.with_settings(speculation="off")[0].id,)


def test_nothing_says_that_speculation_brings_no_gain(trapped: Told) -> None:
    assert not trapped.findings(FindingKind.EQUIVALENT)
    assert not trapped.findings(FindingKind.INERT_FLAG)
    (told,) = trapped.findings(FindingKind.SPECULATION)
    assert told.evidence["gain_measured"] is None
    assert told.evidence["break_even_accept_length"] is None
    assert told.evidence["accept_length"] == pytest.approx(3.37, abs=0.4)


def test_every_line_of_its_log_occurs_in_a_real_one(trapped: Told) -> None:
    assert unknown_lines(trapped.logs()) == []


def test_a_line_of_our_own_making_is_found_out(tmp_path: Path) -> None:
    assert unknown_lines(["[2026-11-29 18:15:22] Load weight begin. avail mem=1.00 GB"]) == []
    assert unknown_lines(["[2026-11-29 18:15:22] Weights are loading"]) == ["Weights are loading"]
