"""How the two sides of a place speak. Each side reads lines; bytes follow a line that announces them.

Home says JSON objects, one a line:

- first ``{"do": "start" | "attach", "after": n, "have": {file: bytes}, …}``; ``start`` brings ``settings``, ``request``
  and ``inputs`` (a list of ``{"sha256", "name", "bytes"}``), and sends the contents of those that are asked for;
- then ``{"do": "beat"}`` every few seconds, ``{"do": "stop"}``, and at last ``{"do": "forget"}``.

The far side says lines that begin with a letter:

- ``H {"version": …}`` once, after whatever a login shell prints; ``N [sha256, …]`` inputs that it does not have;
- ``E {event}``; ``F {"name", "at", "bytes"}`` and the bytes; ``K`` when there is nothing else to say;
- ``X {"code", "words", "lost"}``: the trial has ended and all of it was sent; ``! reason``: it cannot be had.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

HELLO = b"H shakedown-relay "
"""Marks the begin of what is meant for us: whatever comes before is the login shell's."""
BEAT_EVERY_S = 3.0
LEASE_S = 20.0
"""Silence after which each side takes the other for gone; the cable may be out for ten seconds, TCP needs as long again
to find out that it is back, and nobody may wait for more than thirty."""
INPUT = "@shakedown-input:{sha256}@"
"""Stands in a request for the path that an input has on the far side."""
FILES = "@shakedown-files@"
"""Stands in a request for the trial's folder on the far side."""


def order(message: Mapping[str, object]) -> bytes:
    """One line of home's."""
    return json.dumps(message).encode() + b"\n"


def frame(letter: str, content: object) -> bytes:
    """One line of the far side's."""
    return letter.encode() + b" " + json.dumps(content).encode() + b"\n"


class Lines:
    """Cuts a stream of bytes into lines and announced blocks."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Add what was read."""
        self._buffer += data

    def line(self) -> bytes | None:
        """The next whole line without its end, or None."""
        end = self._buffer.find(b"\n")
        if end < 0:
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def unread(self, line: bytes) -> None:
        """Give a line back."""
        self._buffer[:0] = line + b"\n"

    def block(self, count: int) -> bytes | None:
        """The next ``count`` bytes, or None while they are not all there."""
        if len(self._buffer) < count:
            return None
        block = bytes(self._buffer[:count])
        del self._buffer[:count]
        return block
