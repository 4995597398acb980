"""One launch line, started and mended until it answers sense: what ``shakedown up`` does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shakedown.campaign.trial import failure_of
from shakedown.checks.runner import run_checks
from shakedown.diagnose.diagnose import diagnose_lines
from shakedown.diagnose.remedies import Refused, derive
from shakedown.domain.base import Value
from shakedown.domain.candidate import Candidate
from shakedown.domain.check import CheckResult
from shakedown.domain.events import Event, ServerReady
from shakedown.domain.failure import Failure
from shakedown.domain.trial import Gates, Limits
from shakedown.domain.words import CheckVerdict, GateLevel, Stage
from shakedown.domain.workload import Target
from shakedown.engines.base import Engine
from shakedown.launch.server import Ended, Server

QUICK_CHECK = Gates(level=GateLevel.QUICK, context_tokens=128)
"""Without a workload, a short conversation must fit."""


class Attempt(Value):
    """One launch of ``up``: its command, and either why it failed or nothing."""

    command: str
    changes: tuple[str, ...]
    """What was changed since the attempt before, a phrase each."""
    failure: Failure | None


@dataclass(frozen=True, slots=True)
class Up:
    """How it ended. ``server`` runs and is ready, or is None."""

    attempts: tuple[Attempt, ...]
    server: Server | None
    base_url: str | None
    refused: str | None
    """Why no further remedy was tried, where none was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """Starts a candidate on one address, again and again.

    Args:
        engine: its adapter.
        folder: gets a folder for the log of each attempt.
        host: address the server listens on.
        port: its port.
        emit: told what happens.
        should_stop: asked again and again; once True everything is stopped.
    """

    engine: Engine
    folder: Path
    host: str
    port: int
    emit: Callable[[Event], None]
    should_stop: Callable[[], bool]

    def up(self, candidate: Candidate, *, engine_version: str | None) -> Up:
        """Start, diagnose, mend and retry until the quick check passes or nothing more is known to help."""
        attempts: list[Attempt] = []
        history: list[str] = []
        changes: tuple[str, ...] = ()
        while True:
            command = self.engine.command_line(candidate, host=self.host, port=self.port)
            outcome = self._try(candidate, self.folder / f"attempt-{len(attempts) + 1}")
            if outcome is None or isinstance(outcome, Server):
                attempts.append(Attempt(command=command, changes=changes, failure=None))
                return Up(tuple(attempts), outcome, outcome.base_url if outcome else None, None)
            attempts.append(Attempt(command=command, changes=changes, failure=outcome))
            mended = derive(
                candidate,
                outcome,
                varied={},
                history=history,
                engine_version=engine_version,
                aliases=self.engine.aliases,
            )
            if isinstance(mended, Refused):
                return Up(tuple(attempts), None, None, mended.reason)
            history.append(mended.signature)
            candidate, changes = mended.candidate, mended.changes

    def _try(self, candidate: Candidate, folder: Path) -> Server | Failure | None:
        """Launch once: the server that passed, why it failed, or None when a stop was asked for."""
        server = Server.start(
            self.engine.launch_plan(candidate, host=self.host, port=self.port),
            self.engine,
            folder=folder,
            host=self.host,
            port=self.port,
            limits=Limits(),
            model_name=candidate.model.name,
            on_event=self.emit,
        )
        kept = False
        try:
            ready = server.wait_ready(self.should_stop)
            if ready is None:
                return None
            failure = self._died(server, ready) if isinstance(ready, Ended) else self._rejected(ready, candidate)
            if self.should_stop():
                return None
            kept = failure is None
            return failure or server
        finally:
            if not kept:
                server.stop()

    def _died(self, server: Server, ended: Ended) -> Failure:
        stage = ended.evidence.stage or Stage.BOOT
        diagnosis = diagnose_lines(server.log_lines(), engine=self.engine.kind, evidence=ended.evidence)
        return ended.failure or failure_of(diagnosis.root, stage, ended.reason)

    def _rejected(self, ready: ServerReady, candidate: Candidate) -> Failure | None:
        self.emit(ready)
        target = Target(base_url=ready.base_url, model=candidate.model.name)
        report = run_checks(target, self.engine, QUICK_CHECK, on_result=_ignore, should_stop=self.should_stop)
        failed = next((check for check in report.checks if check.verdict is CheckVerdict.FAIL), None)
        if failed is None:
            return None
        return Failure(
            category=None,
            signature=None,
            stage=Stage.CHECK,
            root_line=None,
            title=f"{failed.name}: {failed.summary}",
        )


def _ignore(_check: CheckResult) -> None:
    """Only the report's verdict counts here."""
