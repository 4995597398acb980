"""A supervised server process: started, watched until it is ready, stopped without a trace; for every engine."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psutil

from shakedown.client.clock import now_ns, wall_time
from shakedown.client.control import ControlClient
from shakedown.domain.base import Scalar
from shakedown.domain.errors import ClientError, StoreError
from shakedown.domain.events import Event, LaunchStarted, PhaseReached, ServerReady, ServerStopped
from shakedown.domain.failure import ExitEvidence, Failure
from shakedown.domain.trial import Limits
from shakedown.domain.words import Category, Stage
from shakedown.engines.base import Engine, LaunchPlan, Probe
from shakedown.launch.boot import BootWatch, Launched
from shakedown.launch.failures import cannot_listen, not_startable, port_taken
from shakedown.launch.gpu_memory import GpuMemory
from shakedown.launch.guardian_client import EngineEnd, Guardian
from shakedown.launch.log_reader import log_lines
from shakedown.launch.port import Listener, bind_error, listeners
from shakedown.launch.secrets import hide_argv, hide_env

LOG_NAME = "server.log"
_LOOK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class Ended:
    """The server does not run, or was ended because it never got ready."""

    reason: str
    """One sentence for a person."""
    evidence: ExitEvidence
    failure: Failure | None = None
    """What supervision itself saw (port taken, program missing, hang). None: the log says why; ask ``diagnose``."""
    guardian_lost: bool = False
    """The guardian process was killed, and the engine with it: nothing can be said of the engine."""


class Server:
    """One launch. Call :meth:`start`, :meth:`wait_ready`, and always :meth:`stop`.

    Whatever happens to this process, nothing below the launched one outlives it (see ``shakedown.launch.guardian``).
    """

    def __init__(
        self, engine: Engine, *, folder: Path, limits: Limits, on_event: Callable[[Event], None], api_key: str | None
    ) -> None:
        self._engine = engine
        self._limits = limits
        self._on_event = on_event
        self._api_key = api_key
        self.log_file = folder / LOG_NAME
        self.base_url = ""
        self._guardian: Guardian | None = None
        self._boot: BootWatch | None = None
        self._gpu: GpuMemory | None = None
        self._refusal: Failure | None = None
        self._ready = False
        self._stalled = False
        self._stopped: ServerStopped | None = None

    @classmethod
    def start(
        cls,
        plan: LaunchPlan,
        engine: Engine,
        *,
        folder: Path,
        host: str,
        port: int,
        limits: Limits,
        model_name: str,
        on_event: Callable[[Event], None],
        api_key: str | None = None,
    ) -> Self:
        """Start what ``plan`` describes and emit ``LaunchStarted``.

        A port that somebody else holds and a program that cannot be executed are results, not exceptions:
        nothing is started, and :meth:`wait_ready` returns ``Ended``.

        Args:
            plan: its ``argv`` listens on ``host`` and ``port``; ``{folder}`` in it becomes ``folder``.
            engine: says how boot phases, health and settings look.
            folder: made if missing; gets ``server.log``, ``server.log.times`` and the plan's files.
            host: address the server was told to listen on.
            port: port it was told to listen on; :func:`shakedown.launch.port.free_port` finds one.
            limits: stall and total limit of the boot, grace between SIGTERM and SIGKILL.
            model_name: name that clients call the model by.
            on_event: gets every event, in order.
            api_key: sent with every control request, for a server that was started with one.

        Raises:
            StoreError: if ``folder`` cannot be written.
            LostGuardianError: if the engine's guardian process cannot be started or was killed at once.
        """
        folder = folder.resolve()
        _prepare(folder, plan)
        server = cls(engine, folder=folder, limits=limits, on_event=on_event, api_key=api_key)
        if (error := bind_error(host, port)) is not None:
            server._refusal = _cannot_listen(host, port, error)
            return server
        argv = tuple(word.replace("{folder}", str(folder)) for word in plan.argv)
        server._gpu = GpuMemory.measure(plan.env)
        started_ns = now_ns()
        try:
            server._guardian = Guardian(argv, plan.env, folder=folder, log=server.log_file)
        except OSError as start_error:
            if start_error.filename == str(server.log_file):  # moved away, or full: no fault of the engine
                raise StoreError(f"{server.log_file}: cannot be written: {start_error.strerror}") from start_error
            server._refusal = not_startable(argv[0], start_error)
            return server
        launched = Launched(started_ns, server._guardian.pid, Path(argv[0]).name, host, port, model_name, api_key)
        server.base_url = launched.base_url
        server._boot = BootWatch(engine, launched, log=server.log_file, limits=limits, on_phase=server._phase_reached)
        on_event(
            LaunchStarted(
                at=wall_time(),
                argv=hide_argv(argv),
                env=hide_env(plan.env),
                pid=server._guardian.engine_pid,
                port=port,
                log_file=str(server.log_file),
            )
        )
        return server

    def wait_ready(self, should_stop: Callable[[], bool] | None = None) -> ServerReady | Ended | None:
        """Wait until the server is healthy and has generated a token; emit ``PhaseReached`` as phases pass.

        Returns None once ``should_stop`` says so. The event is returned, not emitted: whoever emits it may add warnings
        found in the log. After ``Ended`` and None, :meth:`stop` is still to be called.
        """
        if self._refusal is not None:
            return Ended(self._refusal.title, ExitEvidence(stage=Stage.LAUNCH), self._refusal)
        assert self._boot is not None
        assert self._guardian is not None
        while should_stop is None or not should_stop():
            end = self._guardian.ended(_LOOK_EVERY_S)
            if end is not None:
                self._boot.finish_log()
                return self._ended(end)
            outcome = self._boot.step()
            if isinstance(outcome, Failure):
                self._refusal = outcome
                self._stalled = outcome.category == Category.HANG
                self.stop()
                return Ended(outcome.title, self.evidence(), outcome)
            if outcome is not None:
                return self._become_ready(outcome)
        return None

    def poll(self) -> Ended | None:
        """Return None while the server runs, else how it ended. Never waits."""
        if self._guardian is None:
            return None
        end = self._guardian.ended()
        return None if end is None else self._ended(end)

    def evidence(self, stage: Stage | None = None) -> ExitEvidence:
        """Return how the process ended, as far as it was seen.

        Args:
            stage: what the trial was doing; by default boot until the server was ready, then load.
        """
        end = self._guardian.ended() if self._guardian else None
        stage = stage or (Stage.LOAD if self._ready else Stage.BOOT if self._guardian else Stage.LAUNCH)
        return ExitEvidence(
            exit_code=end.exit_code if end else None,
            signal=end.signal if end else None,
            silent_s=end.silent_s if end else None,
            last_phase=self._boot.last_phase if self._boot else None,
            stage=stage,
            stalled=self._stalled,
        )

    def log_lines(self) -> Iterator[str]:
        """Yield the lines of the log so far."""
        return log_lines(self.log_file)

    def begin_to_stop(self) -> None:
        """Have the server stopped and wait for nothing, so that whoever waits for its answer waits no longer.

        Fit for a signal handler. ``stop`` waits for the end.
        """
        if self._guardian is not None and self._stopped is None:
            self._guardian.stop(self._limits.term_grace_s)

    def stop(self) -> ServerStopped:
        """Stop the server and everything it started; emit ``ServerStopped``. Calling it again changes nothing.

        SIGTERM to its group, SIGKILL to its whole tree after the grace of the limits; returns when no process is left
        and the GPUs that it used have their memory back (or 30 s have passed: ``memory_freed`` is False).
        """
        if self._stopped is not None:
            return self._stopped
        started_ns = now_ns()
        end: EngineEnd | None = None
        if self._guardian is not None:
            self._guardian.stop(self._limits.term_grace_s)
            end = self._guardian.ended(timeout_s=None)
        if self._boot is not None:
            self._boot.close()
        memory_freed = self._gpu.wait_until_free() if self._gpu is not None else None
        self._stopped = ServerStopped(
            at=wall_time(),
            exit_code=end.exit_code if end else None,
            signal=end.signal if end else None,
            forced=end.forced if end else False,
            seconds=(now_ns() - started_ns) / 1e9,
            memory_freed=memory_freed,
        )
        if self._guardian is not None:
            self._on_event(self._stopped)
        return self._stopped

    def release(self) -> int:
        """Leave the server running when this process ends; return the process to send SIGTERM to, to stop it."""
        assert self._guardian is not None
        assert self._boot is not None
        self._boot.close()
        self._guardian.release()
        return self._guardian.pid

    def _become_ready(self, listener: Listener) -> ServerReady:
        assert self._boot is not None
        assert self._guardian is not None
        boot_s = self._boot.elapsed_s()
        self._ready = True
        if self._gpu is not None:
            self._gpu.note_use()
        pid = listener.pid or self._guardian.engine_pid
        return ServerReady(
            at=wall_time(),
            boot_s=boot_s,
            base_url=self.base_url,
            pid=pid,
            process_started_at=listener.started_at or psutil.Process(pid).create_time(),
            effective=self._effective_settings(),
        )

    def _effective_settings(self) -> dict[str, Scalar | None]:
        with ControlClient(self.base_url, api_key=self._api_key) as control:
            answers = [self._ask(control, probe) for probe in self._engine.info_probes]
        return self._engine.effective_settings(answers, self.log_lines())

    @staticmethod
    def _ask(control: ControlClient, probe: Probe) -> dict[str, object] | None:
        try:
            return control.json(probe.method, probe.path, probe.body)
        except ClientError:
            return None  # an endpoint that this version or build does not have; what it would say stays unknown

    def _phase_reached(self, phase: str, elapsed_s: float) -> None:
        self._on_event(PhaseReached(at=wall_time(), phase=phase, elapsed_s=elapsed_s))

    def _ended(self, end: EngineEnd) -> Ended:
        how = f"was killed by signal {end.signal}" if end.signal is not None else f"exited with code {end.exit_code}"
        if end.guardian_lost:
            how = "was killed together with its guardian process"
        when = "while serving" if self._ready else "while booting"
        return Ended(f"The server {how} {when}.", self.evidence(), self._refusal, guardian_lost=end.guardian_lost)


def _prepare(folder: Path, plan: LaunchPlan) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in plan.files.items():
            (folder / name).write_text(content)
    except OSError as error:
        raise StoreError(f"{folder}: cannot write the files of the trial: {error.strerror}") from error


def _cannot_listen(host: str, port: int, error: OSError) -> Failure:
    if error.errno == errno.EADDRINUSE:
        return port_taken(host, port, listeners(port))
    return cannot_listen(host, port, error)
