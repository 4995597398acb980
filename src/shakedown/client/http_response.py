"""Reading a recorded HTTP response: pure functions over its bytes, used after the request, never while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Framing(Enum):
    """How the end of a body is found (RFC 9112, section 6.3)."""

    CHUNKED = "chunked"
    LENGTH = "length"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class Head:
    """Status line and headers (names in lower case); ``size`` is the offset of the first body byte."""

    status: int
    headers: dict[str, str]
    framing: Framing
    length: int
    """Content-Length, 0 unless ``framing`` is ``LENGTH``."""
    keep_alive: bool
    size: int

    @property
    def retry_after_s(self) -> float | None:
        """Seconds of a Retry-After header given as a number; None without one (a date is not supported)."""
        value = self.headers.get("retry-after", "")
        return float(value) if value.isdigit() else None


def read_head(raw: bytes | bytearray) -> Head | None:
    """Parse the head; None while it is incomplete. Interim 1xx responses are skipped.

    Raises:
        ValueError: if this is not HTTP.
    """
    start = 0
    while True:
        if not raw.startswith(b"HTTP/"[: len(raw) - start], start):
            raise ValueError(f"not an HTTP response: {bytes(raw[start : start + 60])!r}")
        end = raw.find(b"\r\n\r\n", start)
        if end < 0:
            return None
        head = _parse_head(bytes(raw[start:end]), end + 4)
        if not 100 <= head.status < 200:
            return head
        start = head.size
        if start == len(raw):
            return None


def _parse_head(text: bytes, size: int) -> Head:
    status_line, *lines = text.decode("latin-1").split("\r\n")
    version, _, rest = status_line.partition(" ")
    status = int(rest[:3])
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    connection = headers.get("connection", "").lower()
    keep_alive = "close" not in connection if version == "HTTP/1.1" else "keep-alive" in connection
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return Head(status, headers, Framing.CHUNKED, 0, keep_alive, size)
    if status in {204, 304}:
        return Head(status, headers, Framing.LENGTH, 0, keep_alive, size)
    if "content-length" in headers:
        return Head(status, headers, Framing.LENGTH, int(headers["content-length"]), keep_alive, size)
    return Head(status, headers, Framing.CLOSE, 0, keep_alive=False, size=size)


@dataclass(frozen=True, slots=True)
class Body:
    """A body without its framing. ``spans`` are the raw offsets ``(start, end)`` of its pieces, in order."""

    data: bytes
    spans: list[tuple[int, int]]
    complete: bool
    """Whether the framing's end was seen; a body that ends with the connection is complete by definition."""


def read_body(raw: bytes, head: Head) -> Body:
    """Take the framing off; what came before a break is kept.

    Raises:
        ValueError: if a chunk size is no hexadecimal number.
    """
    if head.framing is Framing.CHUNKED:
        return _dechunk(raw, head.size)
    if head.framing is Framing.LENGTH:
        end = min(len(raw), head.size + head.length)
        return Body(raw[head.size : end], [(head.size, end)], end == head.size + head.length)
    return Body(raw[head.size :], [(head.size, len(raw))], complete=True)


def _dechunk(raw: bytes, at: int) -> Body:
    spans: list[tuple[int, int]] = []
    pieces: list[bytes] = []
    find = raw.find
    total = len(raw)
    complete = False
    while (line_end := find(b"\r\n", at)) >= 0:
        line = raw[at:line_end]
        size = int(line if b";" not in line else line.partition(b";")[0], 16)
        start = line_end + 2
        if size == 0:
            complete = find(b"\r\n", start) >= 0
            break
        end = start + size
        pieces.append(raw[start:end])
        spans.append((start, min(total, end)))
        at = end + 2
        if at > total:
            break
    return Body(b"".join(pieces), spans, complete)


def available(ends: list[int], spans: list[tuple[int, int]]) -> list[int]:
    """For each raw offset of ``ends`` (ascending) say how many body bytes lie before it."""
    out: list[int] = []
    body = 0
    number = 0
    count = len(spans)
    for end in ends:
        while number < count and spans[number][1] <= end:
            body += spans[number][1] - spans[number][0]
            number += 1
        partial = end - spans[number][0] if number < count else 0
        out.append(body + partial if partial > 0 else body)
    return out
