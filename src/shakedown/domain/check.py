"""Results of gates."""

from __future__ import annotations

from pydantic import Field

from shakedown.domain.base import Value
from shakedown.domain.words import CheckVerdict, Verdict


class CheckResult(Value):
    """One check. ``evidence`` holds numbers and short quotes, JSON values only, enough to believe the verdict."""

    name: str
    verdict: CheckVerdict
    summary: str
    """One sentence for a person."""
    evidence: dict[str, object] = Field(default_factory=dict)
    seconds: float = Field(ge=0)
    fails_as: Verdict = Verdict.GARBAGE
    """The candidate's verdict if this check fails: garbage (smoke) or inaccurate (against the reference)."""


class CheckReport(Value):
    """All checks of one server at one level."""

    checks: tuple[CheckResult, ...]
    verdict: CheckVerdict
