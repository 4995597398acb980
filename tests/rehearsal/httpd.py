"""HTTP/1.1 for scripted engines: requests parsed by httptools, answers whole or as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httptools

REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 503: "Service Unavailable"}

Handler = Callable[["Connection", str, str, bytes], None]
"""Called with connection, method, path and body; answers now or later."""


class Connection(asyncio.Protocol):
    """One client. After ``begin_stream`` each ``send`` is one event; ``closed`` is called when the client leaves."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._parser = httptools.HttpRequestParser(self)
        self._path = b""
        self._body = b""
        self.closed: Callable[[], None] | None = None
        self.gone = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        host, port = transport.get_extra_info("peername")[:2]
        self.peer = f"{host}:{port}"

    def connection_lost(self, error: Exception | None) -> None:
        self.gone = True
        if self.closed is not None:
            self.closed()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._transport.close()

    def on_message_begin(self) -> None:
        self._path = self._body = b""

    def on_url(self, url: bytes) -> None:
        self._path += url

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        path = self._path.decode().partition("?")[0]
        self._handler(self, self._parser.get_method().decode(), path, self._body)

    def reply(self, content: Any, status: int = 200) -> None:
        """Answer in one piece: text as it is, anything else as JSON."""
        text = isinstance(content, str)
        data = content.encode() if text else json.dumps(content, ensure_ascii=False).encode()
        kind = "text/plain" if text else "application/json"
        head = f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n"
        self.write(head.encode() + data)

    def begin_stream(self) -> None:
        self.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")

    def send(self, event: bytes) -> None:
        """Send one event, given without its frame."""
        self.write(b"%x\r\ndata: %b\n\n\r\n" % (len(event) + 8, event))

    def end_stream(self) -> None:
        self.send(b"[DONE]")
        self.write(b"0\r\n\r\n")

    def write(self, data: bytes) -> None:
        if not self.gone:
            self._transport.write(data)


async def serve(handler: Handler, host: str, port: int) -> asyncio.Server:
    """Listen; the caller keeps the server."""
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: Connection(handler), host, port, backlog=2048)
