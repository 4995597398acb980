"""A trial away from this machine, seen from here: what it says and writes comes home, whatever the line does meanwhile.

A place gives a command that reaches the trial's relay (``ssh host …``); this starts it, speaks the frames of
``remote.frames`` with it, and starts it anew when the line breaks. The relay then sends what is missing.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, Self

from pydantic import ValidationError

from shakedown import __version__
from shakedown.campaign.places.base import Lost
from shakedown.campaign.places.errand import Errand
from shakedown.campaign.places.remote.frames import BEAT_EVERY_S, HELLO, LEASE_S, Lines, order
from shakedown.domain.errors import ShakedownError
from shakedown.domain.events import EVENT, Event, LaunchStarted, PointProgress, TrialFinished
from shakedown.domain.words import OnDisconnect

_READ_BYTES = 1 << 20
_LOOK_EVERY_S = 0.25
_RETRY_AFTER_S = (0.5, 1.0, 2.0, 4.0, 8.0)
_WORDS = 600

Connect = Callable[[], Sequence[str]]
"""Gives the command that reaches the relay."""


class BrokenLineError(Exception):
    """The line broke; the message is what the command that held it said last."""


class CarriedTrial:
    """A trial whose relay is reached by a command.

    Args:
        connect: gives that command.
        errand: what the trial is to do.
        folder: the trial's folder here; gets its files.
        host: its name for people.
        patience_s: so long a host that does not answer is tried again.
        after: events that are stored already; None starts the trial.
    """

    def __init__(
        self,
        connect: Connect,
        errand: Errand,
        *,
        folder: Path,
        host: str,
        patience_s: float,
        after: int | None = None,
    ) -> None:
        self._connect = connect
        self._errand = errand
        self._folder = folder
        self._host = host
        self._patience_s = patience_s
        self._started = after is not None
        self._got = after or 0
        self._stop = False
        self._leave = False
        self._end: dict[str, Any] | None = None
        self._lost: Lost | None = None
        self._heard_at = time.monotonic()

    def events(self) -> Iterator[Event]:
        """Yield events as they come; a file that an event names is here before it.

        Raises:
            ShakedownError: the far side sends what is no event, or is another version.
        """
        tries = 0
        while True:
            try:
                with _Line(self._connect()) as line:
                    for event in self._listen(line):
                        tries = 0
                        yield event
            except BrokenLineError as broken:
                if self._leave:
                    return
                silent_s = time.monotonic() - self._heard_at
                if silent_s > self._patience_s or (self._stop and silent_s > LEASE_S):
                    self._lost = Lost(f"no connection for {silent_s:.0f} s: {broken}", host_gone=True)
                    return
            else:
                return
            self._wait(_RETRY_AFTER_S[min(tries, len(_RETRY_AFTER_S) - 1)])
            tries += 1

    def interrupt(self) -> None:
        """Have the far side told to stop."""
        self._stop = True

    def leave(self) -> bool:
        """Hang up; the trial goes on if that is what it does when it is alone."""
        self._leave = self._errand.on_disconnect is OnDisconnect.CONTINUE
        return self._leave

    def ending(self) -> str | None:
        """Exit status and last words of a trial process that did not end in order."""
        code = self._end["code"] if self._end is not None else None
        if self._end is None or code == 0:
            return None
        how = "is gone" if code is None else f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        words = self._end["words"]
        return f"the trial process on {self._host} {how}" + (f": {words}" if words else "")

    def lost(self) -> Lost | None:
        """Why the trial ended for no reason of its own."""
        return self._lost

    def _listen(self, line: _Line) -> Iterator[Event]:
        """Speak with one relay until the trial has ended.

        Raises:
            BrokenLineError: the line broke before.
        """
        self._greet(line)
        beat_at = heard_at = time.monotonic()
        stop_said = False
        while not self._leave:
            now = time.monotonic()
            if self._stop and not stop_said:
                line.say(order({"do": "stop"}))
                stop_said = True
            if now >= beat_at:
                line.say(order({"do": "beat"}))
                beat_at = now + BEAT_EVERY_S
            if now - heard_at > LEASE_S:
                raise BrokenLineError(f"the line was silent for {now - heard_at:.0f} s")
            if line.read(_LOOK_EVERY_S):
                heard_at = self._heard_at = time.monotonic()
            while (said := line.line()) is not None:
                event = self._take(line, said)
                if event is not None:
                    yield event
                if self._end is not None:
                    line.say(order({"do": "forget"}))
                    return
        raise BrokenLineError("hung up")

    def _greet(self, line: _Line) -> None:
        hello = line.after(HELLO)
        theirs = json.loads(hello)["version"]
        if theirs != __version__:
            raise ShakedownError(
                f"{self._host} has Shakedown {theirs}, here it is {__version__}: install the same version there, or "
                "leave [place] shakedown away and it brings itself"
            )
        have = {str(path.relative_to(self._folder)): path.stat().st_size for path in _files(self._folder)}
        do = "attach" if self._started else "start"
        line.say(
            order({"do": do, "after": self._got, "have": have, **(self._errand.message if not self._started else {})})
        )
        if not self._started:
            missing = line.next_line()
            if missing[:1] == b"N":
                for sha256 in json.loads(missing[2:]):
                    for piece in self._errand.content(sha256):
                        line.say(piece)
                self._started = True
            else:
                line.unread(missing)  # an earlier try has started it; what follows is the trial's
                self._started = True

    def _take(self, line: _Line, said: bytes) -> Event | None:
        """Take in one frame."""
        letter, content = said[:1], said[2:]
        if letter == b"E":
            return self._event(content)
        if letter == b"F":
            file = json.loads(content)
            self._write(file["name"], file["at"], line.block(file["bytes"]))
        elif letter == b"X":
            self._end = json.loads(content)
            if self._end["lost"] is not None:
                self._lost = Lost(self._end["lost"], host_gone=False)
        elif letter == b"!":
            self._end = {"code": None, "words": content.decode(errors="replace")}
            self._lost = Lost(self._end["words"], host_gone=False)
        return None

    def _event(self, content: bytes) -> Event:
        try:
            event = EVENT.validate_json(content)
        except ValidationError as error:
            raise ShakedownError(
                f"{self._host}: the trial wrote something that is no event: {content[:200]!r}"
            ) from error
        if not isinstance(event, PointProgress):
            self._got += 1
        if isinstance(event, LaunchStarted):  # for people it is where they can read it
            event = event.model_copy(update={"log_file": str(self._folder / PurePosixPath(event.log_file).name)})
        if isinstance(event, TrialFinished):
            self._errand.bring_home(self._folder)
        return event

    def _write(self, name: str, at: int, data: bytes) -> None:
        relative = PurePosixPath(name)
        if relative.is_absolute() or ".." in relative.parts:
            raise ShakedownError(f"{self._host}: a file named {name!r} is not the trial's")
        path = self._folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("r+b" if path.exists() else "w+b") as stream:
            stream.seek(at)
            stream.write(data)

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._leave:
            time.sleep(min(_LOOK_EVERY_S, seconds))


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and path.name != Errand.TICKET)


class _Line:
    """A running command that holds the line; ended with the block."""

    def __init__(self, words: Sequence[str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            list(words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, start_new_session=True
        )
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        self._out, self._in = self._process.stdout.fileno(), self._process.stdin.fileno()
        os.set_blocking(self._in, False)
        self._lines = Lines()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._out, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._selector.close()
        self._process.stdin.close()
        try:
            self._process.wait(timeout=2.0 if kind is None else 0.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def say(self, data: bytes) -> None:
        """Write all of ``data``.

        Raises:
            BrokenLineError: nobody reads it within the lease.
        """
        view = memoryview(data)
        give_up = time.monotonic() + LEASE_S
        while view:
            try:
                view = view[os.write(self._in, view) :]
            except BlockingIOError:
                if time.monotonic() > give_up:
                    raise BrokenLineError("the line takes nothing any more") from None
                time.sleep(0.01)
            except BrokenPipeError:
                raise BrokenLineError(self._last_words()) from None

    def read(self, seconds: float) -> bool:
        """Wait for something to come; whether it did.

        Raises:
            BrokenLineError: the command has ended.
        """
        if not self._selector.select(seconds):
            return False
        data = os.read(self._out, _READ_BYTES)
        if not data:
            raise BrokenLineError(self._last_words())
        self._lines.feed(data)
        return True

    def line(self) -> bytes | None:
        """The next whole line that is here."""
        return self._lines.line()

    def unread(self, line: bytes) -> None:
        """Give a line back."""
        self._lines.unread(line)

    def next_line(self) -> bytes:
        """Wait for the next line."""
        give_up = time.monotonic() + LEASE_S
        while (line := self._lines.line()) is None:
            self._read_until(give_up)
        return line

    def after(self, mark: bytes) -> bytes:
        """Wait for the line that begins with ``mark`` and return its rest; what comes before is not ours."""
        give_up = time.monotonic() + 2 * LEASE_S
        while not (line := self._lines.line() or b"").startswith(mark):
            if not line:
                self._read_until(give_up)
        return line[len(mark) :]

    def block(self, count: int) -> bytes:
        """Wait for ``count`` bytes."""
        give_up = time.monotonic() + LEASE_S
        while (block := self._lines.block(count)) is None:
            if self.read(_LOOK_EVERY_S):
                give_up = time.monotonic() + LEASE_S
            elif time.monotonic() > give_up:
                raise BrokenLineError("the line was silent in the middle of a file")
        return block

    def _read_until(self, give_up: float) -> None:
        if not self.read(_LOOK_EVERY_S) and time.monotonic() > give_up:
            raise BrokenLineError("there is no answer")

    def _last_words(self) -> str:
        try:
            code: int | None = self._process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            code = None
        self._errors.seek(0)
        words = " ".join(self._errors.read().decode(errors="replace").split())[-_WORDS:]
        return words or f"{Path(str(self._process.args[0])).name} ended with code {code}"  # type: ignore[index]
