"""The process between a trial and its engine: it starts the engine, keeps its log, and never lets it outlive the trial.

``python -m shakedown.launch.guardian`` is started by ``Server`` and speaks JSON lines.

- Standard input: a launch (``argv``, ``env`` on top of the guardian's own, ``log``, ``folder``, ``parent_pid``), then
  ``{"do": "stop", "grace_s": 8}`` or ``{"do": "release"}``. End of file means that the trial is dead, by whatever
  death: the engine's whole tree is killed.
- Standard output: ``started``, or ``not_started``; at last ``ended``, when no process of the tree is left and the log
  is complete.

Why a process of its own: a parent-death signal reaches only direct children, and only when the forking thread ends; an
engine starts workers, and workers may leave their group and session. The guardian is a *child subreaper*: whatever is
started below it stays below it, so "the kernel says that I have no child left" proves that nothing is left. And since
it reads the engine's output, a trial busy with its load generator never makes an engine wait on a full pipe.

The engine dies with the guardian (parent-death signal); what the engine itself had started is then found by the trial,
or by the next run, through the marker in its environment (``shakedown.launch.orphans``).
"""

from __future__ import annotations

import fcntl
import json
import os
import selectors
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from shakedown.launch.lifeline import adopt_orphans, kill_when_parent_dies
from shakedown.launch.log_writer import LogWriter
from shakedown.launch.process_tree import descendants, start_ticks
from shakedown.launch.secrets import argv_secrets, secret_values

MARKER_VARIABLE = "SHAKEDOWN_TRIAL"
"""In the environment of every engine: ``<guardian pid>:<its start in ticks>:<folder of the trial>``."""

_KEEP_ENVIRONMENT = "SPT_NOENV"
"""Keeps ``setproctitle`` (SGLang's and vLLM's workers call it) from writing over the marker in /proc/PID/environ."""

_LINGER_S = 2.0
"""After the main process has ended, so long may its workers still write why before they are killed."""
_PIPE_BYTES = 1 << 20
_READ_BYTES = 1 << 18
_IDLE_S = 0.25
_ENDING_S = 0.02


class _Guardian:
    def __init__(self, launch: dict[str, Any]) -> None:
        self._parent: int | None = launch["parent_pid"]
        secrets = (*secret_values({**os.environ, **launch["env"]}), *argv_secrets(launch["argv"]))
        self._log = LogWriter(Path(launch["log"]), secrets)
        self._selector = selectors.DefaultSelector()
        self._selector.register(0, selectors.EVENT_READ, self._read_control)
        self._control = b""
        self._main_status: int | None = None
        self._kill_at: float | None = None
        self._stopping = False
        self._forced = False
        self._alone = False
        self._output, output_write = os.pipe()
        fcntl.fcntl(self._output, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        os.set_blocking(self._output, False)
        self._selector.register(self._output, selectors.EVENT_READ, self._read_output)
        self._engine = self._start(launch, output_write)
        os.close(output_write)
        self._listen_to_signals()

    def _listen_to_signals(self) -> None:
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_read, False)
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write)
        self._selector.register(wake_read, selectors.EVENT_READ, lambda: os.read(wake_read, 4096))
        for ignored in (signal.SIGCHLD, signal.SIGINT, signal.SIGHUP):
            signal.signal(ignored, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._stop(grace_s=_LINGER_S))

    @staticmethod
    def _start(launch: dict[str, Any], output: int) -> subprocess.Popen[bytes]:
        own_pid = os.getpid()
        marker = f"{own_pid}:{start_ticks(own_pid)}:{launch['folder']}"
        return subprocess.Popen(
            launch["argv"],
            env={**os.environ, _KEEP_ENVIRONMENT: "1", **launch["env"], MARKER_VARIABLE: marker},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=lambda: kill_when_parent_dies(own_pid),  # noqa: PLW1509 - this process has one thread
        )

    @property
    def pid(self) -> int:
        return self._engine.pid

    def watch(self) -> dict[str, object]:
        """Serve until nothing of the tree is left; return the ``ended`` message."""
        while not self._alone:
            for key, _ in self._selector.select(_IDLE_S if self._kill_at is None else _ENDING_S):
                key.data()
            self._reap()
            if self._parent is not None and os.getppid() != self._parent:
                self._kill_now()
            if self._kill_at is not None and time.monotonic() >= self._kill_at:
                self._kill_all()
        self._read_output()
        self._log.close()
        code = os.waitstatus_to_exitcode(self._main_status) if self._main_status is not None else None
        return {
            "event": "ended",
            "exit_code": code if code is not None and code >= 0 else None,
            "signal": -code if code is not None and code < 0 else None,
            "forced": self._forced,
            "silent_s": self._log.silent_s(),
            "lost_bytes": self._log.lost_bytes,
        }

    def _read_control(self) -> None:
        data = os.read(0, _READ_BYTES)
        if not data:
            self._selector.unregister(0)
            self._kill_now()
        *lines, self._control = (self._control + data).split(b"\n")
        for order in map(json.loads, lines):
            if order["do"] == "stop":
                self._stop(order["grace_s"])
            elif order["do"] == "release":
                self._let_go()

    def _let_go(self) -> None:
        """Live on without the trial, and hold none of its descriptors open."""
        self._parent = None
        self._selector.unregister(0)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)

    def _read_output(self) -> None:
        while True:
            try:
                data = os.read(self._output, _READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                if self._output in self._selector.get_map():
                    self._selector.unregister(self._output)
                return
            self._log.write(data)
            if len(data) < _READ_BYTES:
                return

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._alone = True
                return
            if pid == 0:
                return
            if pid == self._engine.pid:
                self._main_status = status
                self._engine.returncode = os.waitstatus_to_exitcode(status)
                if not self._stopping:  # else its workers have what is left of the grace
                    self._end_by(_LINGER_S)

    def _stop(self, grace_s: float) -> None:
        self._stopping = True
        if self._main_status is None:
            os.killpg(self._engine.pid, signal.SIGTERM)
        self._end_by(grace_s)

    def _end_by(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        self._kill_at = deadline if self._kill_at is None else min(self._kill_at, deadline)

    def _kill_now(self) -> None:
        self._parent = None
        self._end_by(0.0)

    def _kill_all(self) -> None:
        for pid in descendants(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            self._forced = True


def _say(message: dict[str, object]) -> None:
    try:
        os.write(1, json.dumps(message).encode() + b"\n")
    except BrokenPipeError:
        return  # the trial is dead; what was to be done for it is done


def _read_launch() -> dict[str, Any] | None:
    """Read the first line byte by byte, so that orders behind it stay in the pipe; None when the trial is dead."""
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return None
        line += byte
    launch: dict[str, Any] = json.loads(line)
    return launch if os.getppid() == launch["parent_pid"] else None


def main() -> None:
    """Guard one engine from its start to its end."""
    launch = _read_launch()
    if launch is None:
        return
    adopt_orphans()
    try:
        guardian = _Guardian(launch)
    except OSError as error:
        _say({"event": "not_started", "errno": error.errno, "error": error.strerror, "path": error.filename})
        return
    _say({"event": "started", "pid": guardian.pid, "started_at": time.time()})
    _say(guardian.watch())


if __name__ == "__main__":
    main()
