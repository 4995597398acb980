"""What the generator and its worker processes say to each other: pickled tuples and plain values, framed by length.

Nothing here imports pydantic or numpy: a worker starts in a tenth of a second.
"""

from __future__ import annotations

import pickle
import struct
from dataclasses import dataclass
from typing import Any, Protocol

_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class Job:
    """What stays the same for all requests of one point."""

    host: str
    port: int
    tls: bool
    verify_tls: bool
    slots: int | None
    """Requests in flight of a closed loop in this worker; None for an open loop."""
    request_timeout_s: float
    stall_timeout_s: float
    head: bytes
    """Head of every request up to the value of Content-Length."""


@dataclass(slots=True)
class Session:
    """The further turns of a conversation: JSON fragments, so that a worker joins bytes and knows no schema."""

    before: bytes
    after: bytes
    said: bytes
    """The conversation so far, between ``before`` and ``after``."""
    pattern: bytes
    """How an answer and the next question are added: two places, each the inside of a JSON string."""
    follow_ups: list[bytes]
    think_s: float


@dataclass(slots=True)
class Shot:
    """One request to send: the body's bytes, built beforehand."""

    index: int
    body: bytes
    requested_tokens: int | None
    digest: int
    due_s: float | None = None
    """Offset from the start of the phase; None in a closed loop: as soon as a slot is free."""
    session: Session | None = None
    """Further turns; they take the indices after this one."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Progress of one worker, a few times a second."""

    started: int
    done: int
    failed: int
    running: int
    events: float | None
    """Stream events so far, estimated from bytes: shown while it runs, never reported. None without a stream."""
    finished: list[tuple[int, int, int]]
    """Good requests finished since the last tick: when sent, when the first bytes came, when ended; nanoseconds."""


@dataclass(slots=True)
class WorkerReport:
    """How the worker itself did during the window."""

    cpu_s: float
    wall_s: float
    loop_lag_ns: list[int]
    server_died: bool
    starved: bool
    """A slot was free and no prompt was there."""


class Reader(Protocol):
    """The reading half of a binary pipe."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; fewer only at the end."""
        ...


def frame(message: object) -> bytes:
    """Bytes of one message. Both ends are this program, so pickle is safe here."""
    payload = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(payload)) + payload


def read_message(pipe: Reader) -> Any:
    """Read one message from a blocking pipe.

    Raises:
        EOFError: when the other end is gone.
    """
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (size,) = _LENGTH.unpack(head)
    payload = pipe.read(size)
    if len(payload) < size:
        raise EOFError
    return pickle.loads(payload)  # noqa: S301 - written by our own other end


class Unframer:
    """Cuts a byte stream into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Any]:
        """Add bytes; return the messages that are now whole."""
        self._buffer += data
        out = []
        while len(self._buffer) >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._buffer)
            end = _LENGTH.size + size
            if len(self._buffer) < end:
                break
            out.append(pickle.loads(memoryview(self._buffer)[_LENGTH.size : end]))  # noqa: S301 - our own other end
            del self._buffer[:end]
        return out
