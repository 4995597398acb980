"""What the store keeps and the judge reads: a candidate with what is known of it, a trial folded from its events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

from pydantic import Field

from shakedown.domain.base import UnixSeconds, Value
from shakedown.domain.candidate import Candidate
from shakedown.domain.check import CheckResult
from shakedown.domain.events import (
    CheckFinished,
    Event,
    LaunchStarted,
    PhaseReached,
    PointFinished,
    PointStarted,
    ServerReady,
    ServerStopped,
    TrialFinished,
    TrialStarted,
)
from shakedown.domain.metric import PointSummary
from shakedown.domain.words import Verdict

E = TypeVar("E")

TrialState = Literal["running", "finished", "broken"]
"""Broken: the campaign died before the trial's last event; the trial counts for nothing and is run again."""


class CandidateRecord(Value):
    """One candidate as the campaign knows it; the verdict here is what was decided without or after its trials."""

    candidate: Candidate
    verdict: Verdict = Verdict.NOT_RUN
    reason: str = ""
    rule: str | None = None
    rule_sources: tuple[str, ...] = ()
    mended_by: str | None = None
    """Id of the candidate that a remedy or completion made from this one."""
    lossy: tuple[str, ...] = ()
    """Settings that change the model's output distribution, a sentence each, from the engine's adapter."""
    inert: tuple[str, ...] = ()
    """Settings that have nothing to act on, a sentence each, from the rules."""
    command: str | None = None
    """The shell line that starts it by hand."""


class TrialRecord(Value):
    """One launch: its events by kind, in the order they came."""

    id: str
    candidate_id: str
    state: TrialState
    begun_at: UnixSeconds
    ended_at: UnixSeconds | None = None
    host: str | None = None
    """Where it ran; None: on the campaign's own machine."""
    started: TrialStarted | None = None
    launch: LaunchStarted | None = None
    phases: tuple[tuple[str, float], ...] = ()
    ready: ServerReady | None = None
    checks: tuple[CheckResult, ...] = ()
    points: tuple[PointSummary, ...] = ()
    records_files: tuple[str | None, ...] = Field(default=())
    """Request records of each point, relative to the trial's folder; as long as ``points``."""
    load_s: float = 0.0
    """Time from the start to the end of load points, warm-up included."""
    stopped: ServerStopped | None = None
    outcome: TrialFinished | None = None


def fold_events(
    *,
    trial_id: str,
    candidate_id: str,
    state: TrialState,
    begun_at: float,
    ended_at: float | None,
    events: Sequence[Event],
) -> TrialRecord:
    """Gather a trial's events into one record; the last of a kind that occurs once wins."""
    finished_points = [event for event in events if isinstance(event, PointFinished)]
    return TrialRecord(
        id=trial_id,
        candidate_id=candidate_id,
        state=state,
        begun_at=begun_at,
        ended_at=ended_at,
        started=_last(events, TrialStarted),
        launch=_last(events, LaunchStarted),
        phases=tuple((event.phase, event.elapsed_s) for event in events if isinstance(event, PhaseReached)),
        ready=_last(events, ServerReady),
        checks=tuple(event.check for event in events if isinstance(event, CheckFinished)),
        points=tuple(event.point for event in finished_points),
        records_files=tuple(event.records_file for event in finished_points),
        load_s=_load_s(events),
        stopped=_last(events, ServerStopped),
        outcome=_last(events, TrialFinished),
    )


def _load_s(events: Sequence[Event]) -> float:
    total, began = 0.0, None
    for event in events:
        if isinstance(event, PointStarted):
            began = event.at
        elif isinstance(event, PointFinished) and began is not None:
            total += max(event.at - began, 0.0)
            began = None
    return total


def _last(events: Sequence[Event], kind: type[E]) -> E | None:
    return next((event for event in reversed(events) if isinstance(event, kind)), None)
