"""What the end of a process says where its log says nothing."""

import signal

import pytest

from shakedown.diagnose.evidence import root_from_evidence, signal_of
from shakedown.domain.failure import ExitEvidence
from shakedown.domain.words import Category


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (ExitEvidence(signal=11), 11),
        (ExitEvidence(exit_code=139), 11),
        (ExitEvidence(exit_code=-11), 11),
        (ExitEvidence(exit_code=1), None),
        (ExitEvidence(exit_code=0), None),
        (ExitEvidence(), None),
    ],
)
def test_a_signal_is_read_however_it_is_reported(evidence: ExitEvidence, expected: int | None) -> None:
    assert signal_of(evidence) == expected


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGABRT])
def test_a_death_in_native_code_is_named_and_nothing_is_guessed(number: signal.Signals) -> None:
    root = root_from_evidence(ExitEvidence(signal=number))
    assert root is not None
    assert number.name in root.title
    assert root.category is None
    assert root.suggested_only


def test_an_illegal_instruction_suggests_a_binary_for_another_cpu() -> None:
    root = root_from_evidence(ExitEvidence(exit_code=128 + signal.SIGILL))
    assert root is not None
    assert root.category is Category.ENVIRONMENT_MISMATCH
    assert "another CPU" in root.cause


def test_a_stall_says_how_long_it_was_silent_only_where_that_is_known() -> None:
    silent = root_from_evidence(ExitEvidence(stalled=True, silent_s=90.0))
    unknown = root_from_evidence(ExitEvidence(stalled=True))
    assert silent is not None
    assert unknown is not None
    assert "after 90 s without a line" in silent.cause
    assert "without a line" not in unknown.cause


@pytest.mark.parametrize("evidence", [ExitEvidence(exit_code=1), ExitEvidence(signal=signal.SIGTERM), ExitEvidence()])
def test_an_ordinary_end_suggests_nothing(evidence: ExitEvidence) -> None:
    assert root_from_evidence(evidence) is None
