"""The trial's end of the guardian: starts it, gives it orders, hears what became of the engine."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shakedown.domain.errors import ShakedownError
from shakedown.launch.orphans import kill_marked


@dataclass(frozen=True, slots=True)
class EngineEnd:
    """How the engine ended, once nothing of its tree is left and its log is complete."""

    exit_code: int | None
    signal: int | None
    forced: bool
    """SIGKILL was needed, for the engine or for something that it had started."""
    silent_s: float | None
    """Seconds between its last output and its end; None when it never wrote anything."""
    lost_bytes: int
    """Output that did not fit onto the disk."""
    guardian_lost: bool = False
    """The guardian was killed; the exit code is unknown, and the tree was killed through its marker."""


class LostGuardianError(ShakedownError):
    """The process that watches the engine could not be started, or was killed: nothing can be said of the engine."""


class Guardian:
    """A running guardian and the engine below it.

    Raises:
        OSError: if the engine cannot be started (no such program, no permission, disk full).
        LostGuardianError: if the guardian itself cannot be started or was killed at once.
    """

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], *, folder: Path, log: Path) -> None:
        try:
            self._process = subprocess.Popen(
                # -P: a folder named "shakedown" where the user stands must not be taken for this package.
                [sys.executable, "-P", "-m", "shakedown.launch.guardian"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # neither Ctrl-C nor a kill of the trial's group reaches it
            )
        except OSError as error:
            raise LostGuardianError(f"the engine's guardian process cannot be started: {error.strerror}") from error
        self._buffer = b""
        self._end: EngineEnd | None = None
        self.pid = self._process.pid
        self._order(
            {"argv": list(argv), "env": dict(env), "folder": str(folder), "log": str(log), "parent_pid": os.getpid()}
        )
        first = self._next_message(timeout_s=None)
        if first is None:
            self._close()
            raise LostGuardianError("the engine's guardian process died before it had started the engine")
        if first["event"] != "started":
            self._close()
            raise OSError(first["errno"], first["error"], first["path"])
        self.engine_pid: int = first["pid"]

    def ended(self, timeout_s: float | None = 0.0) -> EngineEnd | None:
        """Return how the engine ended; None when it still runs after ``timeout_s`` (None waits for ever)."""
        if self._end is None:
            try:
                message = self._next_message(timeout_s)
            except TimeoutError:
                return None
            if message is None:
                kill_marked(guardian_pid=self.pid)
                self._end = EngineEnd(None, None, forced=True, silent_s=None, lost_bytes=0, guardian_lost=True)
            else:
                message.pop("event")
                self._end = EngineEnd(**message)
            self._close()
        return self._end

    def stop(self, grace_s: float) -> None:
        """Have the engine's group sent SIGTERM now, and its whole tree SIGKILL after ``grace_s``."""
        if self._end is None:
            self._order({"do": "stop", "grace_s": grace_s})

    def release(self) -> None:
        """Let engine and guardian live on without this process; SIGTERM to the guardian stops both."""
        self._order({"do": "release"})
        self._process.returncode = 0  # it is nobody's child to wait for any more
        self._close_pipes()

    def _order(self, order: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        # One system call and no buffer: an order may be given within a signal handler, in the middle of another one.
        with contextlib.suppress(BrokenPipeError):  # the engine has ended, or the guardian was killed: see ``ended``
            os.write(self._process.stdin.fileno(), json.dumps(order).encode() + b"\n")

    def _next_message(self, timeout_s: float | None) -> dict[str, Any] | None:
        """Return the guardian's next message, None at the end of its life; raise TimeoutError."""
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(timeout_s):
                    raise TimeoutError
                data = os.read(descriptor, 65536)
                if not data:
                    return None
                self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def _close(self) -> None:
        self._close_pipes()
        self._process.wait()

    def _close_pipes(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # an order that nobody read any more
            self._process.stdin.close()
        self._process.stdout.close()
