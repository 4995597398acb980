"""One request on the wire, and the connection that carries it: the hot path, where nothing is parsed that can wait.

``data_received`` stamps, appends and compares the last bytes with the end of a chunked body. Framing, events, JSON
and text are read afterwards from the recorded bytes (``http_response``, ``sse``, ``answers``).
"""

from __future__ import annotations

import asyncio
import os
from array import array
from typing import Protocol, cast

from shakedown.client.clock import now_ns
from shakedown.client.http_response import Framing, Head, read_body, read_head
from shakedown.client.spool import Segment, Spool
from shakedown.domain.request import RequestError

LAST_CHUNK = b"\r\n0\r\n\r\n"
"""How a chunked body ends. An event stream cannot hold these bytes elsewhere: no field line is a lone ``0``."""

FLUSH_BYTES = 64 * 1024
"""A response longer than this goes to the spool piece by piece, so that long streams do not pile up in memory."""


class Exchange:
    """One request and its response as it came."""

    __slots__ = (
        "buffer", "end_ns", "ends", "error", "error_detail", "first_ns", "head", "index", "last_ns", "looked_at_ns",
        "received", "scheduled_ns", "segments", "sent_ns", "stamps",
    )  # fmt: skip

    def __init__(self, index: int, scheduled_ns: int) -> None:
        self.index = index
        self.scheduled_ns = scheduled_ns
        self.sent_ns = 0
        self.first_ns = 0
        self.last_ns = 0
        self.looked_at_ns = 0
        self.end_ns = 0
        self.head: Head | None = None
        self.error: str | None = None
        self.error_detail = ""
        self.received = 0
        self.stamps = array("q")
        self.ends = array("q")
        self.buffer = bytearray()
        self.segments: list[Segment] = []

    def flush(self, spool: Spool, *, keep: int) -> None:
        """Move arrivals and all but the last ``keep`` bytes to the spool."""
        size = max(0, len(self.buffer) - keep)
        self.segments.append(spool.append(self.stamps, self.ends, self.buffer[:size]))
        del self.buffer[:size]
        self.stamps = array("q")
        self.ends = array("q")

    def settle(self) -> None:
        """Let go of what only a running request needs; a point may keep hundreds of thousands of finished ones."""
        self.head = None
        self.stamps = self.ends = _NO_TIMES
        self.buffer = _NO_BYTES


_NO_TIMES = array("q")
_NO_BYTES = bytearray()


class Owner(Protocol):
    """Who is told when an exchange is over; called inside the event loop, must be quick."""

    spool: Spool

    def exchange_ended(self, connection: Connection, exchange: Exchange) -> None:
        """The response is whole, or the exchange carries an error."""
        ...

    def connection_closed(self, connection: Connection) -> None:
        """A connection without a request in flight was closed."""
        ...


class Connection(asyncio.Protocol):
    """One connection, at most one request in flight."""

    __slots__ = ("_fd", "_owner", "_transport", "closed", "exchange", "reusable", "served")

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._fd = -1
        self.exchange: Exchange | None = None
        self.served = 0
        self.closed = False
        self.reusable = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport, and for plain TCP the descriptor for immediate writes."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transports do not derive from asyncio's
        if transport.get_extra_info("ssl_object") is None:
            self._fd = transport.get_extra_info("socket").fileno()

    def send(self, exchange: Exchange, request: bytes) -> None:
        """Hand the bytes to the socket now; TTFT counts from the stamp taken just before.

        A transport queues writes until the end of the loop's turn; with hundreds of requests due at once that would
        let the stamp run ahead of the send. So plain TCP writes to the descriptor and leaves only a rest to the
        transport; TLS has no such way.
        """
        assert self._transport is not None
        self.exchange = exchange
        exchange.sent_ns = exchange.last_ns = now_ns()
        written = 0
        if self._fd >= 0:
            try:
                written = os.write(self._fd, request)
            except BlockingIOError:
                written = 0
            except OSError:
                self._transport.abort()
                return
        if written < len(request):
            self._transport.write(request[written:])

    def data_received(self, data: bytes) -> None:
        """Stamp and keep; see the module's text."""
        stamp = now_ns()
        exchange = self.exchange
        if exchange is None:  # bytes that no request asked for: this connection cannot be trusted any more
            self.close()
            return
        exchange.stamps.append(stamp)
        exchange.last_ns = stamp
        exchange.received += len(data)
        exchange.ends.append(exchange.received)
        buffer = exchange.buffer
        buffer += data
        head = exchange.head
        if head is None:
            exchange.first_ns = exchange.first_ns or stamp
            self._read_head(exchange)
        elif head.framing is Framing.CHUNKED:
            if buffer.endswith(LAST_CHUNK):
                self._end(exchange)
            elif len(buffer) > FLUSH_BYTES:
                exchange.flush(self._owner.spool, keep=len(LAST_CHUNK))
        elif head.framing is Framing.LENGTH and exchange.received >= head.size + head.length:
            self._end(exchange)

    def _read_head(self, exchange: Exchange) -> None:
        try:
            head = read_head(exchange.buffer)
        except ValueError as error:
            self.fail(RequestError.BROKEN_STREAM, str(error))
            return
        if head is None:
            return
        exchange.head = head
        if head.framing is Framing.CHUNKED:
            # The head's own blank line stands in for the line break before a first, empty chunk.
            if exchange.buffer.endswith(LAST_CHUNK):
                self._end(exchange)
        elif head.framing is Framing.LENGTH and exchange.received >= head.size + head.length:
            self._end(exchange)

    def ended_oddly(self) -> bool:
        """Whether a silent chunked response is in fact whole: trailers, or a last chunk written another way.

        Ends the exchange if so. Only for streams that have been silent for a while; it walks all chunks.
        """
        exchange = self.exchange
        if exchange is None or exchange.head is None or exchange.head.framing is not Framing.CHUNKED:
            return False
        _, _, before = self._owner.spool.read(exchange.segments)
        raw = before + exchange.buffer
        try:
            complete = read_body(raw, exchange.head).complete
        except ValueError:
            return False
        if complete:
            self._end(exchange)
        return complete

    def _end(self, exchange: Exchange) -> None:
        assert exchange.head is not None
        self.exchange = None
        self.served += 1
        exchange.end_ns = exchange.last_ns
        self.reusable = exchange.head.keep_alive and not self.closed
        exchange.flush(self._owner.spool, keep=0)
        self._owner.exchange_ended(self, exchange)

    def fail(self, error: str, detail: str) -> None:
        """End the exchange in flight with an error and give the connection up."""
        exchange = self.exchange
        self.exchange = None
        self.reusable = False
        if self._transport is not None:
            self._transport.abort()
        if exchange is not None:
            exchange.error, exchange.error_detail = error, detail
            exchange.end_ns = now_ns()
            exchange.flush(self._owner.spool, keep=0)
            self._owner.exchange_ended(self, exchange)

    def connection_lost(self, exc: Exception | None) -> None:
        """The server closed: the regular end of a body without framing, else a broken stream."""
        self.closed = True
        self.reusable = False
        exchange = self.exchange
        if exchange is None:
            self._owner.connection_closed(self)
        elif exchange.head is not None and exchange.head.framing is Framing.CLOSE and exc is None:
            self._end(exchange)
        else:
            detail = f"connection lost after {exchange.received} bytes" + (f": {exc}" if exc else "")
            self.fail(RequestError.BROKEN_STREAM, detail)

    def close(self) -> None:
        """Close an idle connection."""
        self.reusable = False
        if self._transport is not None:
            self._transport.abort()
