"""What is known of a running campaign: built up from updates, drawn by ``screen``, told by ``lines``."""

from __future__ import annotations

from dataclasses import dataclass, field

from shakedown.domain.check import CheckResult
from shakedown.domain.events import (
    CheckFinished,
    Event,
    LaunchStarted,
    PhaseReached,
    PointFinished,
    PointProgress,
    PointStarted,
    ServerReady,
    ServerStopped,
    TrialFinished,
)
from shakedown.domain.metric import PointSummary
from shakedown.domain.progress import (
    CampaignEnded,
    CampaignStarted,
    CampaignUpdate,
    CandidateAdded,
    CandidateJudged,
    TimeLeft,
    TrialBegan,
    TrialEvent,
)
from shakedown.domain.words import Stage


@dataclass(slots=True)
class RunningPoint:
    """The load point under way."""

    workload: str
    load: str
    repeat: int
    done: int
    requests: int
    output_tokens_per_s: float | None = None
    running: int = 0


@dataclass(slots=True)
class RunningTrial:
    """The launch under way. ``stage`` follows its events; ``since`` is when the stage began, seconds of the epoch."""

    trial_id: str
    label: str
    index: int
    of: int
    since: float
    host: str | None = None
    stage: Stage = Stage.LAUNCH
    phases: list[tuple[str, float]] = field(default_factory=list)
    boot_s: float | None = None
    checks: list[CheckResult] = field(default_factory=list)
    point: RunningPoint | None = None
    points: list[PointSummary] = field(default_factory=list)


@dataclass(slots=True)
class CampaignState:
    """Everything the view shows."""

    started: CampaignStarted | None = None
    candidates: int = 0
    trials: dict[str | None, RunningTrial] = field(default_factory=dict)
    """The latest trial of each host, in the order they began; None is this machine."""
    judged: dict[str, CandidateJudged] = field(default_factory=dict)
    """By candidate id, in the order of their last judgement."""
    ends_at: float | None = None
    """When the runner expects the end, seconds of the epoch."""
    ended: CampaignEnded | None = None

    @property
    def finished(self) -> int:
        """Candidates done, those of earlier runs included."""
        before = self.started.finished if self.started else 0
        return min(before + len(self.judged), self.candidates)

    def trial(self, trial_id: str) -> RunningTrial | None:
        """A trial that is shown, or None."""
        return next((trial for trial in self.trials.values() if trial.trial_id == trial_id), None)

    def apply(self, update: CampaignUpdate) -> None:
        """Take one update in; an event of a trial that is not shown is left out."""
        match update:
            case CampaignStarted():
                self.started = update
                self.candidates = update.candidates
                self.ends_at = None if update.estimated_s is None else update.at + update.estimated_s
            case CandidateAdded():
                self.candidates += 1
            case TrialBegan():
                self.trials.pop(update.host, None)
                began = RunningTrial(update.trial_id, update.label, update.index, update.of, update.at, update.host)
                self.trials[update.host] = began
            case TrialEvent():
                trial = self.trial(update.trial_id)
                if trial is not None:
                    _follow(trial, update.event)
            case CandidateJudged():
                self.judged.pop(update.candidate_id, None)
                self.judged[update.candidate_id] = update
            case TimeLeft():
                self.ends_at = None if update.seconds is None else update.at + update.seconds
            case CampaignEnded():
                self.ended = update
                self.trials.clear()


def _follow(trial: RunningTrial, event: Event) -> None:
    match event:
        case LaunchStarted():
            _enter(trial, Stage.BOOT, event.at)
        case PhaseReached():
            trial.phases.append((event.phase, event.elapsed_s))
        case ServerReady():
            trial.boot_s = event.boot_s
            _enter(trial, Stage.CHECK, event.at)
        case CheckFinished():
            trial.checks.append(event.check)
        case PointStarted():
            if trial.stage is not Stage.LOAD:
                _enter(trial, Stage.LOAD, event.at)
            trial.point = RunningPoint(event.workload, load_words(event), event.repeat, 0, event.requests)
        case PointProgress():
            trial.point = RunningPoint(
                event.workload,
                load_words(event),
                event.repeat,
                event.done,
                event.requests,
                event.output_tokens_per_s,
                event.running,
            )
        case PointFinished():
            trial.point = None
            trial.points.append(event.point)
        case ServerStopped() | TrialFinished():
            trial.point = None
            _enter(trial, Stage.SHUTDOWN, event.at)
        case _:
            pass


def _enter(trial: RunningTrial, stage: Stage, at: float) -> None:
    trial.stage = stage
    trial.since = at


def load_words(point: PointStarted | PointProgress | PointSummary) -> str:
    """The load of a point as a person writes it: ``4``, or ``2.5/s`` for a request rate."""
    return f"{point.concurrency}" if point.concurrency is not None else f"{point.request_rate:g}/s"
