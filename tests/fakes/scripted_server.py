"""A server for what cannot be had for real: every byte it writes, and when, is the test's."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self


@dataclass
class Request:
    """One request as it came; ``number`` counts from 0 over the server's life."""

    number: int
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, object]:
        return json.loads(self.body)


Reply = Callable[[Request, asyncio.StreamWriter], Awaitable[bool | None]]
"""Writes the answer; False closes the connection afterwards."""


@dataclass
class ScriptedServer:
    """Runs ``reply`` for every request, in a thread with its own loop; a context manager."""

    reply: Reply
    tls: ssl.SSLContext | None = None
    requests: list[Request] = field(default_factory=list)
    connections: int = 0

    def __enter__(self) -> Self:
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def stop(self) -> None:
        """Close the listening socket and every connection, as a dying process does."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join(10)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._client, "127.0.0.1", 0, ssl=self.tls, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopped.wait()
        server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while (request := await self._read(reader)) is not None:
                self.requests.append(request)
                keep = await self.reply(request, writer)
                await writer.drain()
                if keep is False:
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Request | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.decode().strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Request(len(self.requests), first.split()[1], headers, body)


# --- building blocks of answers ---

STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(message: object) -> bytes:
    return b"data: " + json.dumps(message, ensure_ascii=False).encode() + b"\n\n"


def token(text: str, finish: str | None = None) -> dict[str, object]:
    return {"choices": [{"index": 0, "text": text, "finish_reason": finish}]}


def usage(prompt: int, completion: int) -> dict[str, object]:
    return {
        "choices": [],
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion},
    }


DONE = b"data: [DONE]\n\n"
END = b"0\r\n\r\n"


def plain_stream(tokens: int, *, pause_s: float = 0.0) -> Reply:
    """A well-behaved stream: one token an event, usage, [DONE]."""

    async def reply(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD)
        for number in range(tokens):
            writer.write(chunk(event(token(f" {number}", "length" if number == tokens - 1 else None))))
            await writer.drain()
            if pause_s:
                await asyncio.sleep(pause_s)
        writer.write(chunk(event(usage(5, tokens))) + chunk(DONE) + END)

    return reply


def raw(data: bytes, *, keep: bool = True) -> Reply:
    """Exactly these bytes."""

    async def reply(request: Request, writer: asyncio.StreamWriter) -> bool:
        writer.write(data)
        return keep

    return reply
