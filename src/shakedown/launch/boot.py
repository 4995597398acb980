"""Watches one boot: phases as they pass, readiness, and the stall limit."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shakedown.client.clock import now_ns
from shakedown.client.control import ControlClient
from shakedown.domain.failure import Failure
from shakedown.domain.trial import Limits
from shakedown.engines.base import Engine
from shakedown.launch.failures import cannot_generate, endless_boot, port_taken, spinning_boot, stalled_boot
from shakedown.launch.log_reader import LogTail
from shakedown.launch.port import Listener
from shakedown.launch.progress import StallClock, tree_usage
from shakedown.launch.readiness import TOKEN_PATH, TokenProbe, who_listens

_HEALTH_EVERY_S = 0.1
_HEALTH_SHARE = 0.01
"""Health is asked every tenth of a second at first, then every hundredth of the time passed: enough to know when the
server got ready, without filling its log."""
_USAGE_EVERY_S = 1.0
_HEALTH_TIMEOUT_S = 5.0
_SPIN_LIMITS = 3
"""Stall limits that the use of CPU alone is believed: a silent compilation reads sources and starts compilers."""
_REFUSALS_ALLOWED = 5
"""A server may answer its first request with an error while it warms up; five in a row are no accident."""


@dataclass(frozen=True, slots=True)
class Launched:
    """What a boot watch must know of the process it watches."""

    at_ns: int
    guardian_pid: int
    program: str
    host: str
    port: int
    model_name: str
    api_key: str | None

    @property
    def base_url(self) -> str:
        """Where clients of this machine reach it; a wildcard address is reached over the loopback."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - read, not bound
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


class BootWatch:
    """Call :meth:`step` again and again until it returns the listener that is ready, or a failure."""

    def __init__(
        self, engine: Engine, launched: Launched, *, log: Path, limits: Limits, on_phase: Callable[[str, float], None]
    ) -> None:
        self.last_phase: str | None = None
        self._engine = engine
        self._launched = launched
        self._limits = limits
        self._on_phase = on_phase
        self._phases = [(phase.name, re.compile(phase.pattern)) for phase in engine.boot_phases]
        self._tail = LogTail(log)
        self._health = ControlClient(launched.base_url, api_key=launched.api_key, timeout_s=_HEALTH_TIMEOUT_S)
        self._token = TokenProbe(
            launched.base_url, model=launched.model_name, api_key=launched.api_key, timeout_s=limits.boot_stall_s
        )
        self._start_ns = launched.at_ns
        self._stall = StallClock(self.elapsed_s())
        self._next_health_s = self._next_usage_s = 0.0
        self._listener: Listener | None = None

    def elapsed_s(self) -> float:
        """Seconds since the launch."""
        return (now_ns() - self._start_ns) / 1e9

    def close(self) -> None:
        """Close the connections."""
        self._health.close()

    def read_log(self) -> None:
        """Announce the phases that the next log lines show."""
        unfinished = self._tail.unfinished
        for line in self._tail.new_lines():
            # Lines about our own probes are no sign of life.
            if not any(path in line for path in (self._engine.health_path, TOKEN_PATH)):
                self._stall.output(self.elapsed_s())
            self._look_for_phase(line)
        if len(self._tail.unfinished) > len(unfinished):
            self._stall.output(self.elapsed_s())

    def finish_log(self) -> None:
        """Announce the phases in all that is left of a log which has ended."""
        self.read_log()
        while self._tail.has_more():
            self.read_log()

    def _look_for_phase(self, line: str) -> None:
        for name, pattern in self._phases:
            if pattern.search(line):
                self._phases.remove((name, pattern))
                self.last_phase = name
                self._on_phase(name, self.elapsed_s())
                return

    def step(self) -> Listener | Failure | None:
        """Look once: None while it boots, the process that answers when it is ready, or why it never will be."""
        self.read_log()
        return self._look_for_readiness() or self._look_for_stall()

    def _look_for_readiness(self) -> Listener | Failure | None:
        if not self._is_healthy():
            return None
        launched = self._launched
        if self._listener is None:
            listening = who_listens(launched.port, root=launched.guardian_pid, program=launched.program)
            if listening.stranger is not None:
                return port_taken(launched.host, launched.port, [listening.stranger])
            self._listener = listening.ours
        if self._listener is None:
            return None
        if self._token.poll():
            return self._listener
        if self._token.refusals >= _REFUSALS_ALLOWED:
            return cannot_generate(self._token.last_refusal)
        return None

    def _is_healthy(self) -> bool:
        now_s = self.elapsed_s()
        if now_s < self._next_health_s:
            return False
        self._next_health_s = now_s + max(_HEALTH_EVERY_S, _HEALTH_SHARE * now_s)
        return self._health.status(self._engine.health_path) == 200

    def _look_for_stall(self) -> Failure | None:
        now_s = self.elapsed_s()
        if now_s >= self._next_usage_s:
            self._next_usage_s = now_s + _USAGE_EVERY_S
            self._stall.usage(tree_usage(self._launched.guardian_pid, now_s))
        stalled_s = self._stall.stalled_s(now_s)
        if stalled_s >= self._limits.boot_stall_s:
            return stalled_boot(stalled_s)
        spinning_s = self._stall.spinning_s(now_s)
        if spinning_s >= _SPIN_LIMITS * self._limits.boot_stall_s:
            return spinning_boot(spinning_s)
        if now_s >= self._limits.boot_total_s:
            return endless_boot(now_s)
        return None
