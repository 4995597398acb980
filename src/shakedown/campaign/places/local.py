"""This machine: a trial is a child process in its own session, so that Ctrl-C reaches only the campaign."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import IO

from pydantic import ValidationError

from shakedown.domain.errors import ShakedownError
from shakedown.domain.events import EVENT, Event
from shakedown.domain.trial import TrialRequest
from shakedown.launch.lifeline import PARENT_VARIABLE

STDERR_TAIL_CHARS = 2000


class LocalTrial:
    """A trial process on this machine, waiting for its request.

    Raises:
        ShakedownError: if none can be started: no process, file handle or disk space is left.
    """

    def __init__(self) -> None:
        # A temporary file, not a pipe: nobody has to read it for the trial to go on.
        try:
            self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
            self._process = subprocess.Popen(
                [sys.executable, "-m", "shakedown", "trial"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                start_new_session=True,
                env={**os.environ, PARENT_VARIABLE: str(os.getpid())},
            )
        except OSError as error:
            raise ShakedownError(
                f"no trial process can be started: {error.strerror}. Everything finished before is kept; "
                "run the campaign again to resume."
            ) from error

    def request(self, request: TrialRequest) -> None:
        """Give it its request, which sets it going."""
        assert self._process.stdin is not None
        # A trial that died already cannot read its request; its ending tells more than the broken pipe.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(request.model_dump_json().encode())
            self._process.stdin.close()

    @property
    def waits(self) -> bool:
        """Whether the process is alive."""
        return self._process.poll() is None

    def discard(self) -> None:
        """End a process that got no request."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
        self._stderr.close()

    def events(self) -> Iterator[Event]:
        """Yield events as they come.

        Raises:
            ShakedownError: if the process writes something that is no event.
        """
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                yield EVENT.validate_json(line)
            except ValidationError as error:
                raise ShakedownError(f"the trial process wrote something that is no event: {line[:200]!r}") from error
        self._process.wait()

    def interrupt(self) -> None:
        """Send SIGTERM to the trial process, which stops its server."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def ending(self) -> str | None:
        """Exit status and last words of a trial process that did not end in order."""
        code = self._process.wait()
        if code == 0:
            return None
        self._stderr.seek(0)
        words = self._stderr.read().decode(errors="replace").strip()[-STDERR_TAIL_CHARS:]
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"the trial process {how}" + (f": {words}" if words else "")


class LocalPlace:
    """This machine.

    A trial process needs a second to import what it needs, so the next one is started while this one's server boots;
    it waits for its request without using the CPU.
    """

    name = "local"

    def __init__(self) -> None:
        self._spare: LocalTrial | None = None

    def start(self, request: TrialRequest) -> LocalTrial:
        """Start a trial process here."""
        trial = self._spare if self._spare is not None and self._spare.waits else LocalTrial()
        trial.request(request)
        self._spare = LocalTrial()
        return trial

    def close(self) -> None:
        """End the process that waits for a request which will not come."""
        if self._spare is not None:
            self._spare.discard()
            self._spare = None
