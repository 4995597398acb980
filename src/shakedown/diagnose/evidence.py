"""What the end of a process says where its log says nothing: signal, exit status, silence."""

from __future__ import annotations

import signal

from shakedown.domain.failure import ExitEvidence, Remedy, RootCause
from shakedown.domain.words import Category

_EXIT_BY_SIGNAL = 128


def signal_of(evidence: ExitEvidence) -> int | None:
    """Return the signal that ended the process, also where a shell reported it as exit status 128 + signal."""
    if evidence.signal is not None:
        return evidence.signal
    code = evidence.exit_code
    if code is None:
        return None
    if code < 0:
        return -code
    return code - _EXIT_BY_SIGNAL if code > _EXIT_BY_SIGNAL else None


def root_from_evidence(evidence: ExitEvidence) -> RootCause | None:
    """Return what the exit suggests where no line explains it; never a proof, and it says so."""
    if evidence.stalled:
        silent = "" if evidence.silent_s is None else f" after {evidence.silent_s:.0f} s without a line"
        doing = f" while {evidence.last_phase}" if evidence.last_phase else ""
        return _suggested(
            Category.HANG,
            f"stopped making progress{doing}",
            f"The server was ended by the stall limit{silent}{doing}; no line says why.",
            "Look at what the last phase waits for: a collective between GPUs, a download, a compilation.",
        )
    number = signal_of(evidence)
    if number == signal.SIGKILL:
        return _suggested(
            Category.HOST_OUT_OF_MEMORY,
            "killed (SIGKILL) without a line",
            "SIGKILL without any message suggests the kernel's out-of-memory killer or a container's memory limit; "
            "it does not prove it, anything may send SIGKILL.",
            "Look for 'Out of memory: Killed process' in dmesg or 'OOMKilled' in the container's state; give the host "
            "or container more memory.",
        )
    if number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT):
        name = signal.Signals(number).name
        illegal = number == signal.SIGILL
        return _suggested(
            Category.ENVIRONMENT_MISMATCH if illegal else None,
            f"died by {name} without a line",
            f"The process died by {name} in native code; no line says why"
            + (", which suggests a binary built for another CPU." if illegal else "."),
            "Run it again with PYTHONFAULTHANDLER=1 to get the Python stack of the crash.",
        )
    return None


def _suggested(category: Category | None, title: str, cause: str, advice: str) -> RootCause:
    return RootCause(
        category=category,
        signature=None,
        line_number=None,
        line=None,
        title=title,
        cause=cause,
        remedy=Remedy(advice=advice),
        suggested_only=True,
    )
