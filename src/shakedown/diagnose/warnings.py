"""Doubts about accuracy or speed in a healthy server's log."""

from __future__ import annotations

from collections.abc import Iterable

from shakedown.diagnose.diagnose import diagnose_lines
from shakedown.domain.failure import Symptom
from shakedown.domain.words import EngineKind


def warnings_in(lines: Iterable[str | bytes], *, engine: EngineKind | None = None) -> tuple[Symptom, ...]:
    """Return each kind of doubtful line once, at its first occurrence, with what to do about it."""
    return diagnose_lines(lines, engine=engine).warnings
