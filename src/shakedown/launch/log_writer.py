"""Writes an engine's output as it comes, byte for byte, and beside it when each piece came.

Standard library only: the guardian imports this.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Sequence
from pathlib import Path

TIMES_SUFFIX = ".times"
_HEADER = (
    "# byte offset in the log, seconds since {start:.6f} (Unix time): from this byte on, output came at this time\n"
)
_MERGE_NS = 1_000_000
"""Pieces closer than this share a record, which keeps the side file small under a flood."""


class LogWriter:
    """Appends to ``path`` and to ``path.times``. A full disk loses output, never the process that writes it.

    ``secrets`` are written as asterisks.
    """

    def __init__(self, path: Path, secrets: Sequence[str] = ()) -> None:
        self._secrets = sorted((secret.encode() for secret in set(secrets)), key=len, reverse=True)
        self._end = b""
        """The end of what was written, as long as a secret may reach into it from the next piece."""
        self._start_ns = time.perf_counter_ns()
        self._log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        times = path.with_name(path.name + TIMES_SUFFIX)
        self._times = os.open(times, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._offset = 0
        self._last_record_ns: int | None = None
        self.lost_bytes = 0
        self._last_output_ns: int | None = None
        self._write(self._times, _HEADER.format(start=time.time()).encode())

    def write(self, data: bytes) -> None:
        """Append ``data`` and note when it came."""
        now_ns = time.perf_counter_ns()
        self._last_output_ns = now_ns
        if self._last_record_ns is None or now_ns - self._last_record_ns >= _MERGE_NS:
            self._last_record_ns = now_ns
            self._write(self._times, f"{self._offset} {(now_ns - self._start_ns) / 1e9:.6f}\n".encode())
        if self._secrets:
            data = self._masked(data)
        written = self._write(self._log, data)
        self._offset += written
        self.lost_bytes += len(data) - written

    def _masked(self, data: bytes) -> bytes:
        """Put asterisks over secrets, as many as they have bytes, so that every offset stays what it was."""
        before = len(self._end)
        text = self._end + data
        for secret in self._secrets:
            text = text.replace(secret, b"*" * len(secret))
        if text[:before] != self._end:
            os.pwrite(self._log, text[:before], self._offset - before)
        self._end = text[-(len(self._secrets[0]) - 1) :]
        return text[before:]

    def silent_s(self) -> float | None:
        """Seconds since the newest output; None before the first."""
        return None if self._last_output_ns is None else (time.perf_counter_ns() - self._last_output_ns) / 1e9

    def close(self) -> None:
        """Close both files."""
        os.close(self._log)
        os.close(self._times)

    @staticmethod
    def _write(descriptor: int, data: bytes) -> int:
        done = 0
        while done < len(data):
            try:
                done += os.write(descriptor, data[done:])
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
                    raise
                break
        return done
