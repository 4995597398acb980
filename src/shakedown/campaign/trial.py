"""One trial: launch, ready, gates, load, clean shutdown. Everything it learns leaves it as events."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shakedown.campaign.interrupt import Interrupt
from shakedown.campaign.loading import LoadStage
from shakedown.checks.runner import run_checks
from shakedown.client.clock import now_ns, wall_time
from shakedown.client.control import ControlClient
from shakedown.diagnose.diagnose import diagnose_lines
from shakedown.diagnose.warnings import warnings_in
from shakedown.domain.candidate import Candidate
from shakedown.domain.check import CheckResult
from shakedown.domain.errors import ClientError, UserError
from shakedown.domain.events import CheckFinished, Event, ServerReady, TrialFinished, TrialStarted
from shakedown.domain.failure import Failure, RootCause, Symptom
from shakedown.domain.metric import PointSummary
from shakedown.domain.trial import TrialRequest
from shakedown.domain.words import CheckVerdict, Stage, Verdict
from shakedown.domain.workload import PointPlan, Target
from shakedown.engines.base import Engine, SpanningEngine
from shakedown.engines.registry import engine_for
from shakedown.judge.race import lost as lost_race
from shakedown.launch.guardian_client import LostGuardianError
from shakedown.launch.port import free_port
from shakedown.launch.server import Ended, Server

Emit = Callable[[Event], None]
API_KEY_ARG = "api-key"
DYING_S = 15.0
LOOK_EVERY_S = 0.1


def run_trial(request: TrialRequest, *, emit: Emit, interrupt: Interrupt) -> None:
    """Run one trial to its end; the server and all it started are gone when this returns.

    Args:
        request: candidate, gates, load points, limits, folder.
        emit: gets every event in order; the last one is ``TrialFinished``, unless the trial was stopped.
        interrupt: a stop ends the trial without a verdict, and at once: a server that hangs must not keep it waiting.
    """
    begun_ns = now_ns()
    engine = engine_for(request.candidate.engine.kind)
    candidate = _of_rank(request, engine)
    emit(
        TrialStarted(
            at=wall_time(),
            candidate_id=request.candidate.id,
            pid=os.getpid(),
            host=socket.gethostname(),
            versions=candidate.engine.versions,
        )
    )
    port = request.port or free_port(request.host)
    api_key = candidate.args.get(API_KEY_ARG)
    server = Server.start(
        engine.launch_plan(candidate, host=request.host, port=port),
        engine,
        folder=Path(request.folder),
        host=request.host,
        port=port,
        limits=request.limits,
        model_name=candidate.model.name,
        on_event=emit,
        api_key=api_key if isinstance(api_key, str) else None,
    )
    stages = _Stages(
        request=request,
        engine=engine,
        server=server,
        emit=emit,
        should_stop=lambda: interrupt.requested,
        time_is_up=lambda: request.time_left_s is not None and now_ns() - begun_ns > request.time_left_s * 1e9,
        api_key=api_key if isinstance(api_key, str) else None,
    )
    interrupt.on_stop = server.begin_to_stop
    try:
        if interrupt.requested:  # while it was started
            server.begin_to_stop()
        outcome = stages.outcome() if request.span is None or request.span.rank == 0 else stages.follow()
    finally:
        interrupt.on_stop = None
        server.stop()
    if outcome is not None:
        emit(outcome)


def _of_rank(request: TrialRequest, engine: Engine) -> Candidate:
    """The candidate with what its rank adds, where a server spans several hosts."""
    candidate = request.candidate
    if request.span is None:
        return candidate
    if not isinstance(engine, SpanningEngine):
        raise UserError(f"[place] nodes: Shakedown cannot start {engine.kind.value} on several hosts")
    return candidate.model_copy(update={"args": {**candidate.args, **engine.rank_args(request.span)}})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stages:
    """The stages of a trial whose server was started."""

    request: TrialRequest
    engine: Engine
    server: Server
    emit: Emit
    should_stop: Callable[[], bool]
    time_is_up: Callable[[], bool]
    api_key: str | None

    def outcome(self) -> TrialFinished | None:
        """Go through all stages; None when the trial was stopped from outside, or its time was up while it booted."""
        ready = self.server.wait_ready(lambda: self.should_stop() or self.time_is_up())
        if ready is None:
            return None
        if isinstance(ready, Ended):
            verdict = Verdict.HUNG if ready.evidence.stalled else Verdict.FAILED
            return self._failed(verdict, ready, ready.evidence.stage or Stage.BOOT)
        warnings = warnings_in(self.server.log_lines(), engine=self.engine.kind)
        ready = ready.model_copy(update={"warnings": warnings})
        self.emit(ready)
        gated = None if self.request.measure_only else self._gates(ready)
        return gated or self._load(ready) or self._qualified(warnings)

    def follow(self) -> TrialFinished | None:
        """Watch a rank that follows a leader elsewhere: it is ended from outside, or its own end is the trial's."""
        while not self.should_stop():
            died = self.server.poll()
            if died is not None:
                return self._failed(Verdict.FAILED, died, Stage.BOOT)
            time.sleep(LOOK_EVERY_S)
        return None

    def _gates(self, ready: ServerReady) -> TrialFinished | None:
        report = run_checks(
            self._target(ready),
            self.engine,
            self.request.gates,
            on_result=lambda check: self.emit(CheckFinished(at=wall_time(), check=check)),
            should_stop=self.should_stop,
        )
        died = self.server.poll()
        if died is not None:
            return self._failed(Verdict.CRASHED, died, Stage.CHECK)
        failed = next((check for check in report.checks if check.verdict is CheckVerdict.FAIL), None)
        return None if failed is None else self._rejected(failed)

    def _load(self, ready: ServerReady) -> TrialFinished | None:
        try:
            return self._measure(ready)
        except ClientError as error:  # not a request of the load: the server counts the tokens of the prompts
            died = self._wait_for_end()
            silent = Ended(f"The server runs and gives no usable answer: {error}", self.server.evidence(Stage.LOAD))
            return self._failed(Verdict.HUNG if died is None else Verdict.CRASHED, died or silent, Stage.LOAD)

    def _measure(self, ready: ServerReady) -> TrialFinished | None:
        measured: list[PointSummary] = []
        with LoadStage(self.request, self._target(ready), self.engine, self.emit, self.should_stop) as stage:
            for plan in self.request.points:
                cut_short = self._cut_short(measured, plan)
                if self.should_stop() or cut_short is not None:
                    return self._qualified(ready.warnings, cut_short)
                measured.append(stage.measure(plan))
                answered = measured[-1].ok > 0 or measured[-1].interrupted
                lost_all = not answered and not self._answers(ready)
                died = self._wait_for_end() if lost_all else self.server.poll()
                if died is not None:
                    return self._failed(Verdict.CRASHED, died, Stage.LOAD)
                if lost_all:
                    lost = Ended("The server runs and answers no request any more.", self.server.evidence(Stage.LOAD))
                    return self._failed(Verdict.HUNG, lost, Stage.LOAD)
        return None

    def _wait_for_end(self) -> Ended | None:
        """Give a server that lost every request the time to die: parents outlive their workers by some seconds."""
        for _ in range(int(DYING_S / LOOK_EVERY_S)):
            died = self.server.poll()
            if died is not None or self.should_stop():
                return died
            time.sleep(LOOK_EVERY_S)
        return None

    def _answers(self, ready: ServerReady) -> bool:
        """Whether one token still comes."""
        body = {"model": self.request.candidate.model.name, "prompt": "Hello", "max_tokens": 1, "temperature": 0}
        timeout_s = self.request.limits.serve_stall_s
        with ControlClient(ready.base_url, api_key=self.api_key, timeout_s=timeout_s) as control:
            try:
                control.json("POST", "/v1/completions", body)
            except ClientError:
                return False
        return True

    def _cut_short(self, measured: list[PointSummary], following: PointPlan) -> str | None:
        """Why the load ends before ``following``: the race is lost, or the budget spent; None where it goes on."""
        done = f"after {len(measured)} of {len(self.request.points)} load points"
        if self.time_is_up():
            return f"the budget ran out {done}"
        new_round = bool(measured) and following.repeat > measured[-1].repeat
        why = lost_race(self.request.race, measured) if self.request.race is not None and new_round else None
        return None if why is None else f"cut short {done}: {why}"

    def _qualified(self, warnings: tuple[Symptom, ...], cut_short: str | None = None) -> TrialFinished | None:
        if self.should_stop():
            return None
        reason = "started, passed its gates and was measured"
        return TrialFinished(
            at=wall_time(),
            verdict=Verdict.QUALIFIED,
            reason=reason if cut_short is None else f"{reason}, {cut_short}",
            warnings=warnings,
            cut_short=cut_short,
        )

    def _rejected(self, check: CheckResult) -> TrialFinished:
        failure = Failure(
            category=None,
            signature=None,
            stage=Stage.CHECK,
            root_line=None,
            title=check.summary,
            cause=f"the check {check.name} failed",
        )
        reason = f"{check.name}: {check.summary}"
        return TrialFinished(at=wall_time(), verdict=check.fails_as, reason=reason, failure=failure)

    def _failed(self, verdict: Verdict, ended: Ended, stage: Stage) -> TrialFinished | None:
        if self.should_stop():
            return None
        if ended.guardian_lost:
            # A trial without a verdict: the campaign launches again, as after a trial process that was killed.
            raise LostGuardianError("the engine's guardian process was killed, and the engine with it")
        diagnosis = diagnose_lines(
            self.server.log_lines(),
            engine=self.engine.kind,
            evidence=ended.evidence.model_copy(update={"stage": stage}),
            engine_version=self.request.candidate.engine.versions.get(self.engine.kind),
        )
        failure = ended.failure or failure_of(diagnosis.root, stage, ended.reason)
        reason = f"{failure.title}: {failure.root_line}" if failure.root_line else failure.title
        return TrialFinished(
            at=wall_time(), verdict=verdict, reason=reason, failure=failure, warnings=diagnosis.warnings
        )

    def _target(self, ready: ServerReady) -> Target:
        return Target(
            base_url=ready.base_url,
            model=self.request.candidate.model.name,
            api_key=self.api_key,
            stall_timeout_s=self.request.limits.serve_stall_s,
        )


def failure_of(root: RootCause | None, stage: Stage, reason: str) -> Failure:
    """Put a diagnosed root cause into the results vocabulary; without one, ``reason`` is all that is known."""
    if root is None:
        return Failure(category=None, signature=None, stage=stage, root_line=None, title=reason)
    return Failure(
        category=root.category,
        signature=root.signature,
        stage=stage,
        root_line=root.line,
        line_number=root.line_number,
        title=root.title,
        cause=root.cause,
        remedy=root.remedy,
        sources=root.sources,
    )
