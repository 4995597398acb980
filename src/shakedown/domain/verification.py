"""What ``verify --json`` prints: a running server held against the campaign that chose its configuration."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from shakedown.domain.base import UnixSeconds, Value
from shakedown.domain.check import CheckResult
from shakedown.domain.comparison import ComparisonResult, SettingChange
from shakedown.domain.result import SCHEMA
from shakedown.domain.words import CheckVerdict


class Verification(Value):
    """One look at production."""

    schema_: Literal["shakedown/1"] = Field(default=SCHEMA, alias="schema")
    at: UnixSeconds
    base_url: str
    campaign: str
    folder: str
    candidate: str
    """Label of the candidate that production should be."""
    settings_read: int
    """Effective settings that both the campaign and the server know."""
    settings: tuple[SettingChange, ...]
    """Those that differ: before is the campaign's."""
    ignored: tuple[str, ...] = ()
    """Settings that may differ because the user said so."""
    checks: tuple[CheckResult, ...]
    comparison: ComparisonResult | None
    """Speed, before is the campaign's; None where it was not measured."""
    deviations: tuple[str, ...]
    """A sentence each; empty where production is what the campaign proved."""
    verdict: CheckVerdict
    """Pass or fail."""
