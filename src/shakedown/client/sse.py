"""Server-sent events of a recorded body, by the rules of the HTML standard, section 9.2.6."""

from __future__ import annotations

import re

_LINE_END = re.compile(rb"\r\n|\r|\n")


def next_event(body: bytes, at: int, *, plain: bool) -> tuple[bytes | None, int, int]:
    """Read one block of lines from ``at``: its data, the offset at which its last data line ends, and where to go on.

    Comments, ``event``, ``id`` and ``retry`` fields are passed over; several data lines are joined by a line feed; a
    block without data gives None. A block that the end of the body cuts off before its blank line counts too: what it
    holds did arrive, and a server that forgets the last blank line is not thereby broken.

    Args:
        body: the whole recorded body.
        at: offset of a block's first byte.
        plain: the body holds no carriage return; blocks are then found without looking at lines.
    """
    if not plain:
        return _by_lines(body, at)
    end = body.find(b"\n\n", at)
    after = end + 2
    if end < 0:
        end = after = len(body)
    block = body[at:end]
    if block.startswith(b"data: ") and b"\n" not in block:
        return block[6:], end, after
    return _joined([line for line in block.split(b"\n") if line.startswith(b"data:")]), end, after


def _by_lines(body: bytes, at: int) -> tuple[bytes | None, int, int]:
    data: list[bytes] = []
    data_end = at
    while at < len(body):
        match = _LINE_END.search(body, at)
        end, after = match.span() if match else (len(body), len(body))
        line = body[at:end]
        at = after
        if line.startswith(b"data:"):
            data.append(line)
            data_end = end
        elif not line:
            break
    return _joined(data), data_end, at


def _joined(lines: list[bytes]) -> bytes | None:
    """Values of data lines; one space after the colon belongs to the syntax."""
    if not lines:
        return None
    return b"\n".join([line[6:] if line[5:6] == b" " else line[5:] for line in lines])
