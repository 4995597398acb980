"""Everything the judge needs, as one pure value: what was asked, what happened, and how to decide."""

from __future__ import annotations

from pydantic import Field

from shakedown.domain.base import UnixSeconds, Value
from shakedown.domain.record import CandidateRecord, TrialRecord
from shakedown.domain.words import Objective
from shakedown.domain.workload import Workload
from shakedown.judge.step_cost import ForcedRun


class Ceiling(Value):
    """The most that a candidate can do at a load level by the plan's roofline; more means a wrong measurement."""

    output_tokens_per_s: float = Field(gt=0)
    candidate_id: str | None = None
    """None: it holds for all candidates."""
    workload: str | None = None
    """None: it holds for all workloads."""
    concurrency: int | None = None
    """None: it holds at every level."""
    explanation: str
    """What it was computed from, in words with numbers."""
    step_s: float | None = None
    """The plain decode step that it comes from, and of it:"""
    reading_s: float | None = None
    all_reduce_s: float | None = None
    """By the fastest way known for this link."""
    all_reduces: int = 0
    all_reduce_ways: tuple[tuple[str, float], ...] = ()
    """Each way to do them with its reported cost, seconds per step."""


class CampaignEvidence(Value):
    """A campaign as it stands: finished, interrupted or still running."""

    name: str
    folder: str
    shakedown_version: str
    started_at: UnixSeconds | None = None
    finished_at: UnixSeconds | None = None
    complete: bool
    budget_exhausted: bool = False
    wall_s: float | None = None
    """Seconds that the campaign was at work, all sessions together."""

    objective: Objective = Objective.OUTPUT_TOKENS_PER_S
    margin: float = Field(default=0.02, gt=0)
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    launches: int = Field(default=1, ge=1)
    repeats: int = Field(default=1, ge=1)
    max_kl: float | None = None
    """The accuracy gate's limit, mean KL divergence from the reference in nats; None: no accuracy gate."""

    workloads: tuple[Workload, ...]
    candidates: tuple[CandidateRecord, ...]
    """In the order of the plan."""
    trials: tuple[TrialRecord, ...] = ()
    """In the order they began."""
    first_values: str | None = None
    """Id of the candidate that takes the first value of every dimension: the reference if it qualifies."""
    machine: dict[str, object] = Field(default_factory=dict)
    model: dict[str, object] = Field(default_factory=dict)
    engine: dict[str, object] = Field(default_factory=dict)
    reused: dict[str, str] = Field(default_factory=dict)
    """Launches taken from an earlier campaign: trial id to that campaign's folder."""
    ceilings: tuple[Ceiling, ...] = ()
    hosts_apart: dict[str, str] = Field(default_factory=dict)
    """Hosts whose trials are left out of ``trials`` because they differ from the others, and in what."""
    hosts_lost: dict[str, str] = Field(default_factory=dict)
    """Hosts that were given up, and why."""
    forced_runs: tuple[ForcedRun, ...] = ()
    """Launches with acceptance made up; never candidates."""
