"""Server-sent events of a recorded body, by the rules of the HTML standard, section 9.2.6."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LINE_END = re.compile(rb"\r\n|\r|\n")


def events(body: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield each event's data and the body offset at which its last data line ends.

    Comments, ``event``, ``id`` and ``retry`` fields are passed over; several data lines are joined by a line feed. An
    event that the end of the body cuts off before its blank line is yielded too: what it holds did arrive, and a
    server that forgets the last blank line is not thereby broken.
    """
    if b"\r" not in body:
        yield from _plain_events(body)
        return
    data: list[bytes] = []
    data_end = 0
    at = 0
    while at < len(body):
        match = _LINE_END.search(body, at)
        end, after = match.span() if match else (len(body), len(body))
        line = body[at:end]
        at = after
        if line.startswith(b"data:"):
            data.append(line[6:] if line[5:6] == b" " else line[5:])
            data_end = end
        elif not line and data:
            yield b"\n".join(data), data_end
            data = []
    if data:
        yield b"\n".join(data), data_end


def _plain_events(body: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield events of a body that uses line feeds only, the usual case: one split, no pattern."""
    end = -2
    for block in body.split(b"\n\n"):
        start = end + 2
        end = start + len(block)
        if block.startswith(b"data: ") and b"\n" not in block:
            yield block[6:], end
            continue
        data = [line[6:] if line[5:6] == b" " else line[5:] for line in block.split(b"\n") if line.startswith(b"data:")]
        if data:
            yield b"\n".join(data), end
