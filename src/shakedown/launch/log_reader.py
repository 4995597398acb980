"""Reads an engine's log while it is being written, whatever is in it: binary, progress bars, lines without an end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_LINE_LIMIT = 1 << 16
"""Bytes of a line that are kept; a line without end would not fit into memory."""

_TAIL_BYTES = 4 << 20
"""Read at once while following: who follows a flood must still come back to look at the rest of the world."""


def log_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a log, numbered as an editor numbers them, cut after 65,536 bytes; none if there is no file.

    A progress bar that returns to the start of its line stays one line.
    """
    if not path.exists():
        return
    with path.open("rb") as log:
        yield from _lines(log)


class LogTail:
    """Gives the complete lines that were added to a log since the last time it was asked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self.unfinished = b""
        """What there is of the line that has not ended yet: a progress bar grows here."""

    def has_more(self) -> bool:
        """Whether the log goes on behind what was read."""
        return self._path.exists() and self._path.stat().st_size > self._offset + len(self.unfinished)

    def new_lines(self) -> list[str]:
        """Return the lines completed since the last call; of a flood, the next four megabytes."""
        lines: list[str] = []
        if not self._path.exists():
            return lines
        with self._path.open("rb") as log:
            log.seek(self._offset)
            until = self._offset + _TAIL_BYTES
            self.unfinished = b""
            while self._offset < until:
                line = log.readline(_LINE_LIMIT)
                if not line.endswith(b"\n") and len(line) < _LINE_LIMIT:
                    self.unfinished = line
                    break
                self._offset += len(line)
                lines.append(_text(line))
        return lines


def _lines(log: BinaryIO) -> Iterator[str]:
    while line := log.readline(_LINE_LIMIT):
        yield _text(line)
        while line and not line.endswith(b"\n"):
            line = log.readline(_LINE_LIMIT)


def _text(line: bytes) -> str:
    return line.decode(errors="replace").rstrip("\r\n")
