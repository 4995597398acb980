"""What ``compare --json`` prints: two results held against each other, before and after a change."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from shakedown.domain.base import Scalar, UnixSeconds, Value
from shakedown.domain.result import SCHEMA, Interval
from shakedown.domain.words import ComparisonStatus, Verdict


class Side(Value):
    """One of the two results: where it came from and what was measured."""

    name: str
    folder: str
    measured_by: str | None = None
    """None: a campaign; else the load generator."""
    started_at: UnixSeconds | None = None
    engine: str | None = None
    engine_version: str | None = None
    model: str | None = None
    machine: str | None = None


class LevelChange(Value):
    """One candidate at one load level, or over all of them: figures of merit before and after, more is better."""

    candidate: str
    workload: str | None
    """None: over all workloads and levels that both sides measured."""
    concurrency: int | None = None
    request_rate: float | None = None
    before: float | None
    """Geometric mean of the objective over launches and repeats; None over several levels."""
    after: float | None
    ratio: float
    """After over before."""
    interval: Interval | None
    status: ComparisonStatus
    ttft_p50_s: tuple[float | None, float | None] = (None, None)
    """Before and after, means over repeats; told, not judged. Likewise TPOT."""
    tpot_p50_s: tuple[float | None, float | None] = (None, None)
    ttft_p99_ratio: float | None = None
    """After over before, over all requests; None where the request records are not at hand."""
    ttft_p99_interval: Interval | None = None


class SettingChange(Value):
    """An effective setting that the server reports differently now."""

    key: str
    before: Scalar | None
    after: Scalar | None


class CandidateChange(Value):
    """A candidate that both sides know."""

    candidate: str
    before: Verdict
    after: Verdict
    newly_failing: bool
    """It qualified before and does not now."""
    reason: str = ""
    """Why it does not qualify now."""
    root_line: str | None = None
    settings: tuple[SettingChange, ...] = ()


class ComparisonRule(Value):
    """How it was decided."""

    objective: str
    margin: float
    confidence: float
    launch_variance_measured: bool
    comparisons: int
    """Better and worse are adjusted for so many tests."""


class ComparisonResult(Value):
    """``b`` (after) against ``a`` (before)."""

    schema_: Literal["shakedown/1"] = Field(default=SCHEMA, alias="schema")
    a: Side
    b: Side
    decision: ComparisonRule
    levels: tuple[LevelChange, ...]
    """For each candidate first the whole, then level by level."""
    candidates: tuple[CandidateChange, ...]
    notes: tuple[str, ...] = ()
    """What was left out and what to keep in mind, a sentence each."""
    regressions: tuple[str, ...] = ()
    """Why the exit code is 4, a sentence each; empty where nothing got worse."""
    status: ComparisonStatus | None
    """Of the whole; None where no load level is common."""
