"""This machine: a trial is a child process in its own session, so that Ctrl-C reaches only the campaign."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from shakedown.campaign.places.base import Tell
from shakedown.campaign.subject import Subject, inspect_subject, plan_subject
from shakedown.domain.errors import ShakedownError
from shakedown.domain.events import EVENT, Event
from shakedown.domain.spec import CampaignSpec, PlaceSection
from shakedown.domain.trial import TrialRequest
from shakedown.domain.words import PlaceKind
from shakedown.launch.lifeline import PARENT_VARIABLE
from shakedown.plan.outcome import Plan

KIND = PlaceKind.LOCAL
HOST = "local"
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
            self._words = ""
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
        with self._process.stdout as lines:
            for line in lines:
                try:
                    yield EVENT.validate_json(line)
                except ValidationError as error:
                    raise ShakedownError(f"the trial process wrote what is no event: {line[:200]!r}") from error
        self._process.wait()
        self._stderr.seek(0)
        self._words = self._stderr.read().decode(errors="replace").strip()[-STDERR_TAIL_CHARS:]
        self._stderr.close()

    def interrupt(self) -> None:
        """Send SIGTERM to the trial process, which stops its server."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def leave(self) -> bool:
        """A child process dies with its campaign, whatever is wished."""
        return False

    def lost(self) -> str | None:
        """This machine is here."""
        return None

    def ending(self) -> str | None:
        """Exit status and last words of a trial process that did not end in order."""
        code = self._process.wait()
        if code == 0:
            return None
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"the trial process {how}" + (f": {self._words}" if self._words else "")


class LocalPlace:
    """This machine.

    A trial process needs a second to import what it needs, so the next one is started while this one's server boots;
    it waits for its request without using the CPU.
    """

    kind = KIND
    hosts = (HOST,)

    def __init__(self) -> None:
        self._spare: LocalTrial | None = None

    def inspect(self, spec: CampaignSpec, tell: Tell) -> dict[str, Subject]:
        """Look at this machine."""
        return {HOST: inspect_subject(spec, progress=tell)}

    def plan(self, subject: Subject, tell: Tell) -> Plan:
        """Plan with the engine of this machine."""
        return plan_subject(subject, progress=tell)

    def start(self, request: TrialRequest, *, host: str = HOST) -> LocalTrial:  # noqa: ARG002 - there is one
        """Start a trial process here."""
        trial = self._spare if self._spare is not None and self._spare.waits else LocalTrial()
        trial.request(request)
        self._spare = LocalTrial()
        return trial

    def attach(self, folder: Path, *, after: int) -> None:
        """Nothing is left of a trial whose campaign died."""

    def close(self) -> None:
        """End the process that waits for a request which will not come."""
        if self._spare is not None:
            self._spare.discard()
            self._spare = None


def open_place(section: PlaceSection, tell: Tell) -> LocalPlace:  # noqa: ARG001 - nothing to configure
    """Open this machine."""
    return LocalPlace()
