"""Reads an engine's log while it is being written, whatever is in it: binary, progress bars, lines without an end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_LINE_LIMIT = 1 << 16
"""Bytes of a line that are kept; a line without end would not fit into memory."""


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

    def new_lines(self) -> Iterator[str]:
        """Yield the lines completed since the last call."""
        if not self._path.exists():
            return
        with self._path.open("rb") as log:
            log.seek(self._offset)
            while (line := log.readline(_LINE_LIMIT)).endswith(b"\n") or len(line) == _LINE_LIMIT:
                self._offset += len(line)
                yield _text(line)


def _lines(log: BinaryIO) -> Iterator[str]:
    while line := log.readline(_LINE_LIMIT):
        yield _text(line)
        while line and not line.endswith(b"\n"):
            line = log.readline(_LINE_LIMIT)


def _text(line: bytes) -> str:
    return line.decode(errors="replace").rstrip("\r\n")
