"""What a trial says while it runs: one JSON line each, in order. The store keeps all but ``PointProgress``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from shakedown.domain.base import Scalar, UnixSeconds, Value
from shakedown.domain.check import CheckResult
from shakedown.domain.failure import Failure, Symptom
from shakedown.domain.metric import PointSummary
from shakedown.domain.words import Verdict


class _Event(Value):
    at: UnixSeconds


class TrialStarted(_Event):
    """The trial process runs."""

    type: Literal["trial_started"] = "trial_started"
    candidate_id: str
    pid: int
    host: str
    versions: dict[str, str] = Field(default_factory=dict)


class LaunchStarted(_Event):
    """The engine process was started; secrets in ``env`` are replaced by ``***``."""

    type: Literal["launch_started"] = "launch_started"
    argv: tuple[str, ...]
    env: dict[str, str]
    pid: int
    port: int
    log_file: str


class PhaseReached(_Event):
    """A boot phase passed."""

    type: Literal["phase_reached"] = "phase_reached"
    phase: str
    elapsed_s: float


class ServerReady(_Event):
    """Healthy, and it has generated a token. ``process_started_at`` and ``pid`` prove which process answers."""

    type: Literal["server_ready"] = "server_ready"
    boot_s: float
    base_url: str
    pid: int
    process_started_at: UnixSeconds
    effective: dict[str, Scalar | None]
    warnings: tuple[Symptom, ...] = ()


class CheckFinished(_Event):
    """One gate gave its verdict."""

    type: Literal["check_finished"] = "check_finished"
    check: CheckResult


class PointStarted(_Event):
    """A load point begins."""

    type: Literal["point_started"] = "point_started"
    workload: str
    concurrency: int | None
    request_rate: float | None
    repeat: int
    requests: int


class PointProgress(_Event):
    """A running load point, several times a second; shown, never stored."""

    type: Literal["point_progress"] = "point_progress"
    workload: str
    concurrency: int | None
    request_rate: float | None
    repeat: int
    done: int
    requests: int
    output_tokens_per_s: float | None
    running: int


class PointFinished(_Event):
    """A load point was measured; its request records are in ``records_file``, relative to the trial's folder."""

    type: Literal["point_finished"] = "point_finished"
    point: PointSummary
    records_file: str | None


class ServerStopped(_Event):
    """The engine is gone, all of its tree, and on a GPU its memory is free again (or ``memory_freed`` is False)."""

    type: Literal["server_stopped"] = "server_stopped"
    exit_code: int | None
    signal: int | None
    forced: bool
    """SIGKILL was needed."""
    seconds: float
    memory_freed: bool | None


class TrialFinished(_Event):
    """The last event: what this launch came to. ``failure`` is set for every verdict but ``qualified``."""

    type: Literal["trial_finished"] = "trial_finished"
    verdict: Verdict
    reason: str
    failure: Failure | None = None
    warnings: tuple[Symptom, ...] = ()
    cut_short: str | None = None
    """Why not every load point was measured, where that was on purpose."""


Event = Annotated[
    TrialStarted
    | LaunchStarted
    | PhaseReached
    | ServerReady
    | CheckFinished
    | PointStarted
    | PointProgress
    | PointFinished
    | ServerStopped
    | TrialFinished,
    Field(discriminator="type"),
]

EVENT: TypeAdapter[Event] = TypeAdapter(Event)
"""``EVENT.validate_json(line)`` and ``EVENT.dump_json(event)``."""
