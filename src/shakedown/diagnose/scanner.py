"""Reads a log of any size in one pass and keeps what diagnosis needs: hits, tracebacks, readiness, the tail.

Blocks of bytes go through one scan for all literals; only a line that holds one, and the lines of an open traceback,
are taken apart, and a line that told nothing new is not read again, whatever its numbers. Memory is bounded: kept hits
are capped, a long line is cut to a window round what made it interesting.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from shakedown.diagnose.complaints import Before
from shakedown.diagnose.matcher import READY_MARKS, STOP_MARKS, Matcher, SignatureMatch
from shakedown.diagnose.signature import Tier
from shakedown.diagnose.textline import Line, read_line, without_colours
from shakedown.diagnose.tracebacks import Traceback, TracebackReader, exception_in
from shakedown.domain.words import EngineKind

BLOCK_BYTES = 1 << 20
_WINDOW_BEFORE, _WINDOW_BEHIND = 2_000, 6_000
_CONTEXT_LINES = 3
_BEFORE_LINES, _BEFORE_BYTES, _MOST_BEFORE = 80, 24_576, 20
_TAIL_LINES = 15
_TAIL_BYTES = 32_768
_HEAD_BYTES = 65_536
_HITS_PER_SIGNATURE = 20
_MOST_TRACEBACKS = 100
_MOST_BARE = 50
_MOST_DULL = 10_000
_SHAPE_BYTES = 400
_DIGITS = b"0123456789"
_ERROR_LEVELS = frozenset({"ERROR", "CRITICAL"})
_ERROR_OPENINGS = ("error:", "Error:", "ERROR:", "fatal:", "FATAL:", "Fatal error", "fatal error", "what():", "panic:")


@dataclass(slots=True)
class Hit:
    """A line that one or more signatures match."""

    line: Line
    matches: list[SignatureMatch]
    context: tuple[str, ...]
    traceback: Traceback | None = None
    """The traceback in which the line stands."""


@dataclass(slots=True)
class BareException:
    """An exception line outside any traceback, or an engine's own error line; no signature knows either."""

    line: Line
    type_name: str
    """Empty for an error line that names no exception."""
    message: str
    context: tuple[str, ...]


@dataclass(slots=True)
class Scan:
    """What one pass over a log found."""

    hits: list[Hit] = field(default_factory=list)
    tracebacks: list[Traceback] = field(default_factory=list)
    contexts: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Line number to surrounding lines, for exception lines of tracebacks."""
    bare: list[BareException] = field(default_factory=list)
    errors: list[BareException] = field(default_factory=list)
    before: dict[int, Before] = field(default_factory=dict)
    """Number of a line that only says that something failed elsewhere to the lines before it."""
    facts: set[str] = field(default_factory=set)
    first_ready: int | None = None
    last_ready: int | None = None
    """Numbers of the lines that say the server is ready."""
    stopped: int | None = None
    """Number of the line that says somebody asked the server to stop."""
    lines: int = 0
    engine: EngineKind | None = None
    """Who wrote the log, where that is given or its lines tell."""
    head: str = ""
    tail: tuple[str, ...] = ()
    tail_numbers: tuple[int, ...] = ()
    """Line numbers of the tail's lines, in their order."""


def blocks_of(lines: Iterable[str | bytes]) -> Iterator[bytes]:
    """Join lines (with or without their newline) into blocks; a line longer than a block goes through in pieces."""
    pending: list[bytes] = []
    size = 0
    for line in lines:
        raw = line.encode("utf-8", "surrogateescape") if isinstance(line, str) else line
        pending.append(raw if raw.endswith(b"\n") else raw + b"\n")
        size += len(raw) + 1
        if size >= BLOCK_BYTES:
            yield b"".join(pending)
            pending, size = [], 0
    if pending:
        yield b"".join(pending)


class Scanner:
    """Feed it blocks in order, then ``finish``."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._scan = Scan()
        self._reader = TracebackReader()
        self._number = 1
        self._counts: dict[str, int] = {}
        self._dull: set[bytes] = set()
        self._tail = b""

    def feed(self, block: bytes) -> None:
        """Read one block. A block may end inside a line; the rest then comes with the next one."""
        if not self._scan.head:
            self._scan.head = block[:_HEAD_BYTES].decode("utf-8", "replace")
        at = 0
        while at < len(block):
            at = self._read_traceback(block, at) if self._reader.busy else self._read_interesting(block, at)
        self._tail = block[-_TAIL_BYTES:] if len(block) >= _TAIL_BYTES else (self._tail + block)[-_TAIL_BYTES:]

    def finish(self) -> Scan:
        """Return what was found."""
        self._scan.tracebacks += self._reader.finish()
        self._scan.lines = self._number - 1
        raw_tail = self._tail.split(b"\n")
        numbered = enumerate(map(without_colours, raw_tail), self._number - len(raw_tail) + 1)
        tail = [(number, line) for number, line in numbered if line.strip()][-_TAIL_LINES:]
        self._scan.tail_numbers = tuple(number for number, _ in tail)
        self._scan.tail = tuple(line for _, line in tail)
        return self._scan

    def _read_interesting(self, block: bytes, at: int) -> int:
        """Handle the next line at or behind ``at`` that may tell something new; return the offset behind it.

        Newlines are counted only when such a line has come: most lines that hold a literal have told all before.
        """
        counted = at
        while at < len(block):
            found = self._matcher.trigger.search(block, at)
            if found is None:
                break
            hit = found.start()
            start = max(block.rfind(b"\n", at, hit) + 1, at)
            end = _line_end(block, hit)
            window = block[max(start, hit - _WINDOW_BEFORE) : min(end, hit + _WINDOW_BEHIND)]
            shape = _shape(window)
            if shape in self._dull:
                at = end + 1
                continue
            self._number += block.count(b"\n", counted, start)
            if not self._handle(block, start, end, window) and not self._reader.busy and len(self._dull) < _MOST_DULL:
                self._dull.add(shape)
            return self._behind(block, end)
        self._number += block.count(b"\n", counted)
        return len(block)

    def _read_traceback(self, block: bytes, at: int) -> int:
        """Handle the line at ``at``, whatever it holds: a traceback is open; return the offset behind it."""
        end = _line_end(block, at)
        found = self._matcher.trigger.search(block[at:end]) if end - at > _WINDOW_BEHIND else None
        hit = at if found is None else at + found.start()
        self._handle(block, at, end, block[max(at, hit - _WINDOW_BEFORE) : min(end, hit + _WINDOW_BEHIND)])
        return self._behind(block, end)

    def _behind(self, block: bytes, end: int) -> int:
        self._number += end < len(block)
        return end + 1

    def _handle(self, block: bytes, start: int, end: int, window: bytes) -> bool:
        """Keep what a line says; False: it told nothing that was not known."""
        kept = False
        for line in read_line(self._number, window):
            owner = self._reader.owner(line) if line.body.startswith((" ", "\t")) else None
            closed = list(self._reader.feed(line)) if len(self._scan.tracebacks) < _MOST_TRACEBACKS else []
            owner = owner or next((entry for entry in closed if entry.exception is line), None)
            kept |= self._match(line, owner, block, start, end)
            for traceback in closed:
                self._keep_traceback(traceback, block, start, end)
        if len(self._scan.tracebacks) >= _MOST_TRACEBACKS:
            self._scan.tracebacks += self._reader.finish()
        return kept

    def _match(self, line: Line, owner: Traceback | None, block: bytes, start: int, end: int) -> bool:
        """Keep what the line says; False: nothing that was not known, so that its like need not be read again."""
        marked = self._mark(line)
        matches, facts = self._matcher.match(line)
        news = not self._scan.facts.issuperset(facts)
        self._scan.facts.update(facts)
        kept = [match for match in matches if self._counts.get(match.signature.id, 0) < _HITS_PER_SIGNATURE]
        for match in kept:
            self._counts[match.signature.id] = self._counts.get(match.signature.id, 0) + 1
        if kept:
            self._scan.hits.append(Hit(line, kept, _context(block, start, end), owner))
            if kept[0].signature.tier is Tier.WRAPPER and len(self._scan.before) < _MOST_BEFORE:
                self._scan.before.setdefault(line.number, self._before(block, start))
        elif not matches and owner is None:
            marked |= self._keep_unknown(line, block, start, end)
        return bool(kept) or news or marked

    def _before(self, block: bytes, start: int) -> Before:
        """Return the lines before the one at ``start``, numbered."""
        text = block[max(0, start - _BEFORE_BYTES) : start]
        if start < _BEFORE_BYTES:
            text = (self._tail + text)[-_BEFORE_BYTES:]
        lines = text.split(b"\n")[:-1][-_BEFORE_LINES:]
        return tuple(enumerate(lines, self._number - len(lines)))

    def _mark(self, line: Line) -> bool:
        """Note lines that say the server is ready or was asked to stop."""
        ready = any(mark in line.body for mark in READY_MARKS)
        if ready:
            self._scan.last_ready = line.number
            self._scan.first_ready = self._scan.first_ready or line.number
        stopped = any(mark in line.body for mark in STOP_MARKS)
        if stopped:
            self._scan.stopped = line.number
        return ready or stopped

    def _keep_unknown(self, line: Line, block: bytes, start: int, end: int) -> bool:
        body = line.body.strip()
        exception = exception_in(body)
        if exception is not None and exception[1] and len(self._scan.bare) < _MOST_BARE:
            self._scan.bare.append(BareException(line, *exception, _context(block, start, end)))
            return True
        if exception is None and len(self._scan.errors) < _MOST_BARE and _is_error(line, body):
            self._scan.errors.append(BareException(line, "", body, _context(block, start, end)))
            return True
        return False

    def _keep_traceback(self, traceback: Traceback, block: bytes, start: int, end: int) -> None:
        self._scan.tracebacks.append(traceback)
        self._scan.contexts[traceback.first_line] = _context(block, start, end)


def _is_error(line: Line, body: str) -> bool:
    """Whether an engine calls the line an error itself: by its level, or as C++ programs and tools do."""
    if line.body.startswith((" ", "\t", "^")) and not body.startswith("what():"):
        return False
    return bool(body) and (line.level in _ERROR_LEVELS or body.startswith(_ERROR_OPENINGS))


def _shape(window: bytes) -> bytes:
    """Return what lines that differ in their numbers only have in common."""
    return window[:_SHAPE_BYTES].translate(None, _DIGITS)


def _line_end(block: bytes, at: int) -> int:
    end = block.find(b"\n", at)
    return len(block) if end < 0 else end


def _context(block: bytes, start: int, end: int) -> tuple[str, ...]:
    """Return the line between ``start`` and ``end`` with a few lines round it, as far as they are in this block."""
    first = start
    for _ in range(_CONTEXT_LINES):
        if first <= 0:
            break
        first = block.rfind(b"\n", max(0, first - _WINDOW_BEHIND), first - 1) + 1
    last = end
    for _ in range(_CONTEXT_LINES):
        last = _line_end(block, last + 1) if last < len(block) else last
    chosen = block[max(first, start - 4 * _WINDOW_BEHIND) : min(last, end + 4 * _WINDOW_BEHIND)]
    return tuple(without_colours(raw) for raw in re.split(rb"\n", chosen) if raw.strip())
