"""Where recorded responses wait to be parsed: memory first, an unlinked temporary file beyond a budget."""

from __future__ import annotations

import tempfile
from array import array
from typing import BinaryIO

Segment = tuple[int, int, int]
"""Offset in the spool, number of arrivals, number of raw bytes."""


class Spool:
    """Append-only store of response segments.

    A write within the budget is a copy in memory; beyond it, one ``write`` to a file, which the page cache takes.

    Args:
        budget_bytes: how much stays in memory.
    """

    def __init__(self, budget_bytes: int) -> None:
        self._budget = budget_bytes
        self._memory = bytearray()
        self._file: BinaryIO | None = None
        self._file_size = 0

    def append(self, stamps: array[int], ends: array[int], raw: bytes | bytearray) -> Segment:
        """Keep one segment: arrival stamps, the raw offset after each arrival, and the raw bytes."""
        payload = b"".join((memoryview(stamps).cast("B"), memoryview(ends).cast("B"), raw)) if stamps else bytes(raw)
        if self._file is None and len(self._memory) + len(payload) <= self._budget:
            at = len(self._memory)
            self._memory += payload
            return at, len(stamps), len(raw)
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed with the spool
        at = len(self._memory) + self._file_size
        self._file.write(payload)
        self._file_size += len(payload)
        return at, len(stamps), len(raw)

    def read(self, segments: list[Segment]) -> tuple[array[int], array[int], bytes]:
        """Give the segments of one response back as one."""
        stamps, ends, raw = array("q"), array("q"), []
        for at, arrivals, size in segments:
            payload = self._slice(at, arrivals * 16 + size)
            stamps.frombytes(payload[: arrivals * 8])
            ends.frombytes(payload[arrivals * 8 : arrivals * 16])
            raw.append(payload[arrivals * 16 :])
        return stamps, ends, b"".join(raw)

    def _slice(self, at: int, size: int) -> bytes:
        if self._file is None or at < len(self._memory):
            return bytes(self._memory[at : at + size])
        self._file.seek(at - len(self._memory))
        return self._file.read(size)

    def close(self) -> None:
        """Free memory and file."""
        self._memory = bytearray()
        if self._file is not None:
            self._file.close()
            self._file = None
