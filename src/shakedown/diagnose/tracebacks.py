"""Python tracebacks put together from the lines of interleaved processes; chains kept in order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from shakedown.diagnose.textline import Line

HEADER = "Traceback (most recent call last)"
CHAIN_MARKS = (
    "During handling of the above exception, another exception occurred",
    "The above exception was the direct cause of the following exception",
)
_EXCEPTION = re.compile(
    r"(?P<type>(?:(?:[A-Za-z_]\w*|<\w+>)\.)*(?:[A-Za-z_]\w*(?:Error|Exception|Exit|Interrupt|Iteration|Resources|Failure|Timeout"
    r"|Unsupported|NotFound|Warning|Group)|Exception|(?<=\.)[A-Z]\w*))(?:\[[\w., ]+\])?(?::(?:\s(?P<message>.*))?|$)"
)
_FRAME = re.compile(r'\s*File "(?P<file>[^"]+)", line \d+(?:, in (?P<function>.+))?$')
_GROUP = re.compile(r"^\s*[|+](?:-\++[-\d\s]*)?\s?")
_LONGEST = 500


def exception_in(body: str) -> tuple[str, str] | None:
    """Return type (without its module) and message if the line is an exception as Python prints it."""
    found = _EXCEPTION.match(body)
    if found is None:
        return None
    return found["type"].rsplit(".", 1)[-1], (found["message"] or "").strip()


@dataclass(slots=True)
class Traceback:
    """One exception with its frames."""

    stream: str
    chain: int
    """Number of the chain it belongs to: exceptions joined by "During handling of …" share it."""
    place: int
    """Position in its chain, from 0: the first is the cause of the others."""
    first_line: int
    files: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    source: list[Line] = field(default_factory=list)
    """Source lines of the frames, the last one last."""
    exception: Line | None = None
    type_name: str = ""
    message: str = ""
    lines: int = 0

    @property
    def last_source(self) -> Line | None:
        """The source line of the innermost frame."""
        return self.source[-1] if self.source else None


class TracebackReader:
    """Feed it lines in order; it yields each traceback when its exception line has come."""

    def __init__(self) -> None:
        self._open: dict[str, Traceback] = {}
        self._latest: str | None = None
        self._chains = 0
        self._last: dict[str, Traceback] = {}
        self._joined: set[str] = set()

    @property
    def busy(self) -> bool:
        """Whether a traceback is open, so that every line is needed."""
        return bool(self._open)

    def owner(self, line: Line) -> Traceback | None:
        """Return the open traceback that a line belongs to."""
        return self._open.get(self._stream_of(line))

    def feed(self, line: Line) -> Iterator[Traceback]:
        """Take one line."""
        stream = self._stream_of(line)
        if HEADER in line.body:
            yield from self._close(stream)
            self._begin(line, line.stream or stream)
            return
        if line.body.startswith(CHAIN_MARKS) or line.body.lstrip(" |").startswith(CHAIN_MARKS):
            yield from self._close(stream)
            self._joined.add(stream)
            return
        traceback = self._open.get(stream)
        if traceback is not None:
            traceback.lines += 1
            if self._takes(traceback, line) or traceback.lines > _LONGEST:
                yield from self._close(stream)

    def finish(self) -> Iterator[Traceback]:
        """Give what is still open: a log may end inside a traceback."""
        for stream in list(self._open):
            yield from self._close(stream)

    def _stream_of(self, line: Line) -> str:
        """Unprefixed lines behind a prefixed header belong to it: SGLang prefixes a traceback's first line only."""
        if line.stream in self._open or line.stream or self._latest is None:
            return line.stream
        return self._latest if self._latest in self._open or not self._open else line.stream

    def _begin(self, line: Line, stream: str) -> None:
        before = self._last.get(stream)
        if stream in self._joined and before is not None:
            chain, place = before.chain, before.place + 1
        else:
            self._chains += 1
            chain, place = self._chains, 0
        self._joined.discard(stream)
        self._open[stream] = Traceback(stream=stream, chain=chain, place=place, first_line=line.number)
        self._latest = stream

    def _close(self, stream: str) -> Iterator[Traceback]:
        traceback = self._open.pop(stream, None)
        if traceback is not None:
            self._last[stream] = traceback
            yield traceback

    def _takes(self, traceback: Traceback, line: Line) -> bool:
        """Add the line; True when it ended the traceback."""
        body = _GROUP.sub("", line.body) if line.body.lstrip().startswith(("|", "+")) else line.body
        frame = _FRAME.match(body)
        if frame is not None:
            traceback.files.append(frame["file"])
            traceback.functions.append(frame["function"] or "")
            return False
        if not body.strip() or not body.strip(" ^~|"):
            return False
        if body.startswith((" ", "\t")):
            if traceback.files and not body.lstrip().startswith("[Previous line repeated"):
                traceback.source.append(line)
            return False
        exception = exception_in(body)
        if exception is None or not traceback.files:
            return False
        traceback.exception = line
        traceback.type_name, traceback.message = exception
        return True
