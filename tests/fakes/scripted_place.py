"""A place whose trials are scripted: what a candidate does is a function of the candidate. Starts no process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from shakedown.campaign.places.base import Lost, Tell
from shakedown.campaign.subject import Subject, plan_subject
from shakedown.domain.candidate import Candidate
from shakedown.domain.events import (
    Event,
    PointFinished,
    ServerReady,
    ServerStopped,
    TrialFinished,
    TrialStarted,
)
from shakedown.domain.failure import Failure, Remedy
from shakedown.domain.metric import ClientProof, Distribution, PointSummary
from shakedown.domain.trial import TrialRequest
from shakedown.domain.words import Category, PlaceKind, Stage, Verdict
from shakedown.domain.workload import PointPlan
from shakedown.plan.outcome import Plan

Script = Callable[[TrialRequest], Sequence[Event]]
AT = 1_800_000_000.0
FLASH = Failure(
    category=Category.QUANTIZATION,
    signature="llama-quantized-v-cache-without-flash-attention",
    stage=Stage.BOOT,
    root_line="quantized V cache requires flash_attn to be enabled",
    title="needs flash attention",
    remedy=Remedy(advice="set --flash-attn on", set_args={"flash-attn": "on"}),
)


class ScriptedTrial:
    def __init__(self, events: Sequence[Event], death: str | None, lost: Lost | None = None) -> None:
        self._events = events
        self._death = death
        self._lost = lost
        self.interrupted = False

    def events(self) -> Iterator[Event]:
        for event in self._events:
            if self.interrupted:
                return
            yield event

    def interrupt(self) -> None:
        self.interrupted = True

    def leave(self) -> bool:
        return False

    def ending(self) -> str | None:
        return self._death

    def lost(self) -> Lost | None:
        return self._lost


class ScriptedPlace:
    """Remembers what it was asked to start, in order."""

    kind = PlaceKind.LOCAL
    hosts: tuple[str, ...] = ("local",)

    def __init__(self, script: Script) -> None:
        self._script = script
        self.requests: list[TrialRequest] = []

    def plan(self, subject: Subject, tell: Tell) -> Plan:
        return plan_subject(subject, progress=tell)

    def attach(self, folder: Path, *, after: int) -> None:
        return None

    def start(self, request: TrialRequest, *, host: str) -> ScriptedTrial:
        self.requests.append(request)
        events = self._script(request)
        died = not events or not isinstance(events[-1], TrialFinished)
        return ScriptedTrial(events, "the trial process was killed by signal 9" if died else None)

    def launched(self) -> list[str]:
        return [request.candidate.label for request in self.requests]


def started(request: TrialRequest) -> list[Event]:
    return [TrialStarted(at=AT, candidate_id=request.candidate.id, pid=1, host="here")]


def measured(request: TrialRequest, speed: Callable[[Candidate, PointPlan], float]) -> list[Event]:
    """A whole qualified trial in which each point has the speed that ``speed`` says, tokens/s."""
    ready = ServerReady(at=AT, boot_s=1.0, base_url="http://x", pid=2, process_started_at=AT, effective={})
    points = [
        PointFinished(at=AT, point=point(plan, speed(request.candidate, plan)), records_file=None)
        for plan in request.points
    ]
    stopped = ServerStopped(at=AT, exit_code=0, signal=None, forced=False, seconds=0.1, memory_freed=None)
    done = TrialFinished(at=AT, verdict=Verdict.QUALIFIED, reason="measured")
    return [*started(request), ready, *points, stopped, done]


def failing(request: TrialRequest, failure: Failure = FLASH) -> list[Event]:
    done = TrialFinished(at=AT, verdict=Verdict.FAILED, reason=failure.title, failure=failure)
    return [*started(request), done]


def point(plan: PointPlan, tokens_per_s: float) -> PointSummary:
    times = Distribution(mean=0.1, p50=0.1, p90=0.1, p99=0.1, max=0.1, samples=plan.requests)
    return PointSummary(
        workload=plan.workload.name,
        concurrency=plan.level.concurrency,
        request_rate=plan.level.request_rate,
        repeat=plan.repeat,
        requests=plan.requests,
        ok=plan.requests,
        duration_s=1.0,
        output_tokens=int(tokens_per_s),
        output_tokens_per_s=tokens_per_s,
        per_request_tokens_per_s=tokens_per_s,
        requests_per_s=1.0,
        ttft_s=times,
        itl_s=times,
        tpot_s=times,
        e2el_s=times,
        client=ClientProof(cpu_s=0.1, send_lateness_s=times, loop_lag_s=times, limited=False),
    )
