"""The result document ``shakedown/1``: what ``report --format json`` and ``run --json`` print."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from shakedown.domain.base import ArgValue, Scalar, UnixSeconds, Value
from shakedown.domain.check import CheckResult
from shakedown.domain.failure import Failure, Symptom
from shakedown.domain.metric import PointSummary
from shakedown.domain.words import ComparisonStatus, FindingKind, Standing, Verdict

SCHEMA: Literal["shakedown/1"] = "shakedown/1"

Interval = tuple[float, float]


class StandingResult(Value):
    """A qualified candidate against the best: ratio of its objective to the best's, with its interval."""

    status: Standing
    ratio: float
    interval: Interval | None


class TrialResult(Value):
    """One launch, for the timeline."""

    id: str
    candidate: str
    started_at: UnixSeconds
    finished_at: UnixSeconds | None
    boot_s: float | None
    phases: tuple[tuple[str, float], ...] = ()
    verdict: Verdict | None
    log_file: str | None
    host: str | None = None
    """Where it ran; None: on the campaign's own machine."""
    reused_from: str | None = None
    """Results folder of the earlier campaign that made this launch; None: it was made by this one."""


class CandidateResult(Value):
    """One candidate with its verdict and evidence."""

    id: str
    label: str
    settings: dict[str, str] = Field(default_factory=dict)
    args: dict[str, ArgValue]
    env: dict[str, str]
    derived_from: str | None = None
    mended_by: str | None = None
    verdict: Verdict
    reason: str
    rule: str | None = None
    rule_sources: tuple[str, ...] = ()
    failure: Failure | None = None
    effective: dict[str, Scalar | None] = Field(default_factory=dict)
    warnings: tuple[Symptom, ...] = ()
    lossy: tuple[str, ...] = ()
    """Settings of this candidate that change the model's output distribution, in words."""
    boot_s: float | None = None
    launches: int = 0
    checks: tuple[CheckResult, ...] = ()
    points: tuple[PointSummary, ...] = ()
    objective: float | None = None
    """Geometric mean of ratios to the reference over all points; 1.0 is the reference."""
    objective_interval: Interval | None = None
    cut_short: str | None = None
    """Why its last launch did not measure every load point, where that was on purpose."""
    launch_ratios: tuple[float, ...] = ()
    """The objective of each measured launch by itself, as a ratio to the reference's mean."""
    standing: StandingResult | None = None
    command: str | None = None
    """A shell line that starts it."""


class Comparison(Value):
    """``a`` against ``b``: ratio of their objectives. ``dimension`` is the one they differ in, None if several."""

    a: str
    b: str
    dimension: str | None
    ratio: float
    interval: Interval | None
    status: ComparisonStatus
    workload: str | None = None
    """None: over all workloads."""


class Winner(Value):
    """The verdict."""

    id: str
    label: str
    command: str
    why: str


class Finding(Value):
    """One plain sentence, its evidence, whom it concerns, and advice that is a change to make."""

    kind: FindingKind
    summary: str
    evidence: dict[str, object] = Field(default_factory=dict)
    candidates: tuple[str, ...] = ()
    advice: str = ""


class DecisionRule(Value):
    """How verdicts were decided; printed with them."""

    objective: str
    margin: float
    confidence: float
    launches: int
    repeats: int
    launch_variance_measured: bool
    aggregate: str = ""
    """How load points and workloads become one objective, in words."""


class CeilingResult(Value):
    """The most that a candidate can do at a load level by the plan's roofline, for the picture of scaling."""

    output_tokens_per_s: float = Field(gt=0)
    candidate_id: str | None = None
    """None: it holds for all candidates."""
    workload: str | None = None
    """None: it holds for all workloads."""
    concurrency: int | None = None
    """None: it holds at every level."""
    explanation: str = ""
    """What it was computed from, in words with numbers."""


class CampaignInfo(Value):
    """The campaign itself."""

    name: str
    folder: str
    shakedown_version: str
    started_at: UnixSeconds | None = None
    finished_at: UnixSeconds | None = None
    complete: bool
    """False: interrupted or still running; run again to resume."""
    reference: str | None = None
    """Id of the reference candidate in use."""
    decision: DecisionRule
    workloads: tuple[dict[str, object], ...] = ()
    measured_by: str | None = None
    """None: a campaign. Else the load generator whose figures these are; nothing was checked or decided."""
    overhead_share: float | None = None
    """Wall time that was neither boot, checks, load nor shutdown, as a share of all."""


class ParetoPoint(Value):
    """A qualified candidate at a load level where none other has both more throughput and less latency."""

    workload: str
    candidate: str
    concurrency: int | None
    request_rate: float | None
    output_tokens_per_s: float
    """Geometric mean over launches and repeats."""
    e2el_p50_s: float
    """Median end-to-end latency, geometric mean over launches and repeats."""


class CampaignResult(Value):
    """Everything a report needs."""

    schema_: Literal["shakedown/1"] = Field(default=SCHEMA, alias="schema")
    campaign: CampaignInfo
    machine: dict[str, object]
    model: dict[str, object]
    engine: dict[str, object]
    candidates: tuple[CandidateResult, ...]
    comparisons: tuple[Comparison, ...] = ()
    winner: Winner | None = None
    findings: tuple[Finding, ...] = ()
    trials: tuple[TrialResult, ...] = ()
    ceilings: tuple[CeilingResult, ...] = ()
    pareto: tuple[ParetoPoint, ...] = ()
    """Throughput against latency, by workload and growing latency; estimates, no interval is put on membership."""
