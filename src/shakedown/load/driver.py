"""Sends the requests of one worker: a closed loop of slots or an open loop by timetable. Runs inside the event loop."""

from __future__ import annotations

import asyncio
import json
import ssl
import zlib
from collections import deque
from collections.abc import Callable

from shakedown.client.address import post_bytes
from shakedown.client.clock import now_ns
from shakedown.client.exchange import Connection, Exchange
from shakedown.client.reading import read_answer
from shakedown.client.spool import Spool
from shakedown.domain.request import RequestError
from shakedown.load.messages import Job, Session, Shot, Tick
from shakedown.load.timer import PreciseTimer

SPOOL_BUDGET_BYTES = 64 * 1024 * 1024
CONNECT_TIMEOUT_S = 30.0
DEAD_AFTER_S = 2.0
"""A server that refuses every connection for this long is gone; a restart behind a load balancer is quicker."""
PROBE_S = 0.2
ODD_END_AFTER_S = 1.0
"""A chunked stream silent for this long is looked at once: it may have ended in a way the hot path does not see."""
RETRY_AFTER_LIMIT_S = 60.0


class Driver:
    """Owns the connections of one worker and what came over them.

    Closed loop: a slot sends its next request the moment its answer is whole. Open loop: a request goes out when it
    is due, over an idle connection or a new one; how late it was is kept, not slept away.
    """

    def __init__(self, job: Job, loop: asyncio.AbstractEventLoop, on_done: Callable[[], None]) -> None:
        self._job = job
        self._loop = loop
        self._on_done = on_done
        self._timer = PreciseTimer(loop, self._due)
        self._tls = _tls_context(job) if job.tls else None
        self._idle: list[Connection] = []
        self._running: dict[Connection, Shot] = {}
        self._connecting: set[asyncio.Task[Connection]] = set()
        self._pauses: set[asyncio.TimerHandle] = set()
        self._prober: asyncio.Task[None] | None = None
        self._active = False
        self._reset(start_ns=0)

    def _reset(self, *, start_ns: int) -> None:
        self.spool = Spool(SPOOL_BUDGET_BYTES)
        self.finished: list[Exchange] = []
        self.shots: dict[int, Shot] = {}
        self.server_died = False
        self.starved = False
        self._queue: deque[Shot] = deque()
        self._closed_input = False
        self._start_ns = start_ns
        self._free = self._job.slots or 0
        self._started = 0
        self._failed = 0
        self._finished_bytes = 0
        self._density: float | None = None
        self._recent: list[tuple[int, int, int]] = []
        self._down_since: int | None = None

    # --- before the clock starts ---

    async def open_connections(self, count: int) -> None:
        """Open connections until ``count`` are idle; a server that refuses is found out by the first requests.

        Only as many as will be used at once: llama.cpp's server, for one, gives each connection a thread of a small
        pool, and an idle one keeps its thread from others for five seconds.
        """
        wanted = count - len(self._idle)
        for first in range(0, wanted, 64):
            tasks = [self._connect() for _ in range(min(64, wanted - first))]
            for made in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(made, Connection):
                    self._idle.append(made)
                elif isinstance(made, OSError | TimeoutError):
                    return
                elif isinstance(made, BaseException):
                    raise made

    async def _connect(self) -> Connection:
        job = self._job
        async with asyncio.timeout(min(CONNECT_TIMEOUT_S, job.request_timeout_s)):
            _, connection = await self._loop.create_connection(
                lambda: Connection(self),
                job.host,
                job.port,
                ssl=self._tls,
                server_hostname=job.host if job.tls else None,
            )
        return connection

    # --- the phase ---

    def prepare(self) -> None:
        """Forget the last phase; shots may be added from now on."""
        self.spool.close()
        self._reset(start_ns=0)

    def close(self) -> None:
        """Close the idle connections and what is kept; the phase is over."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()
        self.spool.close()

    def add(self, shots: list[Shot]) -> None:
        """Queue further shots; those of an open loop come in the order they are due."""
        head = self._job.head
        for shot in shots:
            shot.body = post_bytes(head, shot.body)
            self.shots[shot.index] = shot
        self._queue.extend(shots)
        if self._active:
            self._pump()

    def close_input(self) -> None:
        """No shots will follow: the phase ends when all are answered."""
        self._closed_input = True
        self._check_done()

    def begin(self, start_ns: int) -> None:
        """Start sending at ``start_ns``."""
        self._start_ns = start_ns
        self._active = True
        self._timer.set(start_ns)

    def stop(self) -> None:
        """Send nothing more, and give up what is in flight."""
        self._queue.clear()
        self._closed_input = True
        for handle in self._pauses:
            handle.cancel()
        self._pauses.clear()
        for task in list(self._connecting):
            task.cancel()
        for connection in list(self._running):
            connection.fail(RequestError.CANCELLED, "the point was stopped")
        self._check_done()

    def drain(self) -> None:
        """Send nothing more, and let what is in flight finish."""
        self._queue.clear()
        self.close_input()

    def _due(self) -> None:
        if self._active:
            self._pump()

    def _pump(self) -> None:
        now = now_ns()
        if now < self._start_ns or self._down_since is not None:
            return
        queue = self._queue
        if self._job.slots is not None:
            while self._free > 0 and queue:
                self._free -= 1
                self._launch(queue.popleft(), now_ns())
            if self._free > 0 and not self._closed_input:
                self.starved = True
            return
        while queue:
            due = self._start_ns + round((queue[0].due_s or 0.0) * 1e9)
            if due > now:
                self._timer.set(due)
                return
            self._launch(queue.popleft(), due)
            now = now_ns()

    def _launch(self, shot: Shot, scheduled_ns: int) -> None:
        self._started += 1
        exchange = Exchange(shot.index, scheduled_ns)
        if self._idle:
            connection = self._idle.pop()
            self._running[connection] = shot
            connection.send(exchange, shot.body)
        else:
            self._connect_and_send(shot, exchange)

    def _connect_and_send(self, shot: Shot, exchange: Exchange) -> None:
        task = self._loop.create_task(self._connect())
        self._connecting.add(task)
        task.add_done_callback(lambda done: self._connected(done, shot, exchange))

    def _connected(self, task: asyncio.Task[Connection], shot: Shot, exchange: Exchange) -> None:
        self._connecting.discard(task)
        if task.cancelled():
            self._end_unsent(exchange, RequestError.CANCELLED, "the point was stopped")
            return
        error = task.exception()
        if error is None:
            if self._job.slots is not None:
                exchange.scheduled_ns = now_ns()  # a closed loop's slot is free to send only now
            connection = task.result()
            self._running[connection] = shot
            connection.send(exchange, shot.body)
        elif isinstance(error, OSError | TimeoutError):
            self._went_down()
            self._end_unsent(exchange, RequestError.CONNECT, f"{type(error).__name__}: {error}")
        else:
            raise error

    def _end_unsent(self, exchange: Exchange, error: str, detail: str) -> None:
        exchange.error, exchange.error_detail = error, detail
        exchange.sent_ns = exchange.end_ns = now_ns()
        self._finish(exchange, pause_s=PROBE_S)

    # --- Owner ---

    def exchange_ended(self, connection: Connection, exchange: Exchange) -> None:
        """Count it, free the slot, send the next."""
        shot = self._running.pop(connection)
        if _closed_under_us(connection, exchange):
            self._connect_and_send(shot, Exchange(exchange.index, exchange.scheduled_ns))
            return
        pause_s = 0.0
        if exchange.error is None:
            assert exchange.head is not None
            if connection.reusable:
                self._idle.append(connection)
            if shot.session is not None and shot.session.follow_ups and exchange.head.status == 200:
                self._next_turn(shot, shot.session, exchange)
                return
            if exchange.head.status in {429, 503}:
                pause_s = min(exchange.head.retry_after_s or PROBE_S, RETRY_AFTER_LIMIT_S)
        self._finish(exchange, pause_s=pause_s)

    def connection_closed(self, connection: Connection) -> None:
        """An idle connection is gone; the next request that needs one opens another."""
        if connection in self._idle:
            self._idle.remove(connection)

    def _next_turn(self, shot: Shot, session: Session, exchange: Exchange) -> None:
        """Send the next turn of a session after the user has thought; the slot stays the session's meanwhile."""
        answer = "".join(read_answer(exchange, self.spool, keep_text=True).text)
        session.said += session.pattern % (json.dumps(answer)[1:-1].encode(), session.follow_ups.pop(0))
        content = post_bytes(self._job.head, session.before + session.said + session.after)
        following = Shot(shot.index + 1, content, shot.requested_tokens, zlib.crc32(content), session=session)
        self.shots[following.index] = following
        self._record(exchange)
        due_ns = exchange.end_ns + round(session.think_s * 1e9)

        def send() -> None:
            self._pauses.discard(handle)
            self._launch(following, max(due_ns, exchange.end_ns))

        handle = self._loop.call_later(session.think_s, send)
        self._pauses.add(handle)

    def _record(self, exchange: Exchange) -> None:
        self.finished.append(exchange)
        self._finished_bytes += exchange.received
        if exchange.error is not None or (exchange.head is not None and exchange.head.status != 200):
            self._failed += 1
        else:
            self._recent.append((exchange.sent_ns, exchange.first_ns, exchange.end_ns))
        exchange.settle()
        self.shots[exchange.index].body = b""

    def _finish(self, exchange: Exchange, *, pause_s: float) -> None:
        self._record(exchange)
        if self._job.slots is not None:
            if pause_s > 0 and (self._queue or not self._closed_input):
                self._pause(pause_s)
            else:
                self._free += 1
                self._pump()
        self._check_done()

    def _pause(self, seconds: float) -> None:
        """Keep one slot back: the server asked for it, or it is not there."""

        def resume() -> None:
            self._pauses.discard(handle)
            self._free += 1
            self._pump()
            self._check_done()

        handle = self._loop.call_later(seconds, resume)
        self._pauses.add(handle)

    # --- a server that is gone ---

    def _went_down(self) -> None:
        if self._down_since is None:
            self._down_since = now_ns()
            self._prober = self._loop.create_task(self._probe())

    async def _probe(self) -> None:
        assert self._down_since is not None
        while now_ns() - self._down_since < DEAD_AFTER_S * 1e9:
            await asyncio.sleep(PROBE_S)
            try:
                self._idle.append(await self._connect())
            except (OSError, TimeoutError):
                continue
            self._down_since = None
            self._pump()
            return
        self.server_died = True
        self.stop()

    # --- now and then ---

    def sweep(self) -> Tick:
        """End what has been silent or running for too long; say how far the phase is. A few times a second."""
        now = now_ns()
        job = self._job
        flying = 0
        for connection in list(self._running):
            exchange = connection.exchange
            if exchange is None:
                continue
            flying += exchange.received
            silent_s = (now - exchange.last_ns) / 1e9
            if silent_s > job.stall_timeout_s:
                connection.fail(RequestError.TIMEOUT, f"silent for {silent_s:.1f} s after {exchange.received} bytes")
            elif now - exchange.sent_ns > job.request_timeout_s * 1e9:
                connection.fail(RequestError.TIMEOUT, f"not finished after {job.request_timeout_s:g} s")
            elif silent_s > ODD_END_AFTER_S and exchange.looked_at_ns != exchange.last_ns:
                exchange.looked_at_ns = exchange.last_ns
                connection.ended_oddly()
            elif len(exchange.buffer) > 1024:
                self._density = exchange.buffer.count(b"data:") / len(exchange.buffer)
        done = len(self.finished)
        events = None if self._density is None else (self._finished_bytes + flying) * self._density
        recent, self._recent = self._recent, []
        return Tick(self._started, done, self._failed, len(self._running), events, recent)

    def _check_done(self) -> None:
        busy = self._queue or self._running or self._connecting or self._pauses
        if self._active and self._closed_input and not busy:
            self._active = False
            self._down_since = None
            self._on_done()


def _closed_under_us(connection: Connection, exchange: Exchange) -> bool:
    """Whether a kept-alive connection was closed by the server before it saw this request.

    No byte came back on a connection that had served before: HTTP leaves this race to the client (RFC 9112, 9.3.1),
    which sends once more over a new connection. On a fresh connection the same is the server's failure.
    """
    return exchange.error == RequestError.BROKEN_STREAM and exchange.received == 0 and connection.served > 0


def _tls_context(job: Job) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not job.verify_tls:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
