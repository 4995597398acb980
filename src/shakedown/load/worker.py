"""A worker process of the generator: ``python -m shakedown.load.worker``, spoken to over its standard input and output.

Its own process keeps the hot path free of everything else that Python does: drawing progress, sampling the server,
building prompts. It ends when its input does, so it cannot outlive the generator.

Messages in: ``("job", Job)``, ``("open", count)``, ``("prepare",)``, ``("shots", [Shot])``, ``("no_more",)``,
``("begin", start_ns)``, ``("drain",)``, ``("stop",)``, ``("report",)``. Out: ``("opened",)``, ``("tick", Tick)``,
``("done", WorkerReport)``, ``("records", [RequestRecord], {index: text})``, ``("reported",)``.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import resource
import signal
import sys
import time
from typing import Any

import uvloop

from shakedown.client.clock import now_ns
from shakedown.client.reading import read_answer, to_record
from shakedown.domain.request import RequestRecord, TokenCount
from shakedown.load.driver import Driver
from shakedown.load.messages import Unframer, WorkerReport, frame

TICK_S = 0.25
LAG_STEP_S = 0.01
BATCH_ARRIVALS = 200_000
"""Arrivals per message of records: a few megabytes at a time."""


class Worker(asyncio.Protocol):
    """Reads messages from the generator and drives one ``Driver``."""

    def __init__(self, loop: asyncio.AbstractEventLoop, out: int) -> None:
        self._loop = loop
        self._out = out
        self._unframer = Unframer()
        self._driver: Driver | None = None
        self.over = loop.create_future()
        self._lag: list[int] = []
        self._cpu_start = 0.0
        self._wall_start = 0
        self._ticking: asyncio.TimerHandle | None = None
        self._lagging: asyncio.TimerHandle | None = None
        self._opening: asyncio.Task[None] | None = None
        loop.set_exception_handler(self._failed)

    def data_received(self, data: bytes) -> None:
        """Take whole messages one by one."""
        for message in self._unframer.feed(data):
            self._handle(message)

    def connection_lost(self, exc: Exception | None) -> None:
        """The generator is gone, or done with us."""
        del exc
        if not self.over.done():
            self.over.set_result(None)

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A mistake of ours inside a callback or task: end loudly instead of measuring nonsense."""
        del loop
        error = context.get("exception") or RuntimeError(context["message"])
        if not self.over.done():
            self.over.set_exception(error)

    def _handle(self, message: tuple[Any, ...]) -> None:
        kind = message[0]
        if kind == "job":
            if self._driver is not None:
                self._driver.close()
            self._driver = Driver(message[1], self._loop, self._done)
            return
        driver = self._driver
        assert driver is not None, "the job comes first"
        if kind == "open":
            self._opening = self._loop.create_task(self._open(driver, message[1]))
        elif kind == "shots":
            driver.add(message[1])
        elif kind == "no_more":
            driver.close_input()
        elif kind == "prepare":
            driver.prepare()
        elif kind == "begin":
            self._begin(driver, message[1])
        elif kind == "drain":
            driver.drain()
        elif kind == "stop":
            driver.stop()
        elif kind == "report":
            self._report(driver)

    async def _open(self, driver: Driver, count: int) -> None:
        await driver.open_connections(count)
        self._send(("opened",))

    def _begin(self, driver: Driver, start_ns: int) -> None:
        gc.collect()
        gc.freeze()
        gc.disable()  # a collection would stop the loop for milliseconds; what a point makes has no cycles to speak of
        self._lag = []
        self._cpu_start = time.process_time()
        self._wall_start = start_ns
        driver.begin(start_ns)
        self._ticking = self._loop.call_later(TICK_S, self._tick, driver)
        self._measure_lag(None)

    def _tick(self, driver: Driver) -> None:
        self._ticking = self._loop.call_later(TICK_S, self._tick, driver)
        self._send(("tick", driver.sweep()))

    def _measure_lag(self, due_ns: int | None) -> None:
        """Note by how much a short timer fires too late: what any arrival may have waited."""
        now = now_ns()
        if due_ns is not None:
            self._lag.append(max(0, now - due_ns))
        due_ns = now + round(LAG_STEP_S * 1e9)
        self._lagging = self._loop.call_later(LAG_STEP_S, self._measure_lag, due_ns)

    def _done(self) -> None:
        driver = self._driver
        assert driver is not None
        for handle in (self._ticking, self._lagging):
            if handle is not None:
                handle.cancel()
        gc.enable()
        cpu_s = time.process_time() - self._cpu_start
        wall_s = (now_ns() - self._wall_start) / 1e9
        self._send(("tick", driver.sweep()))
        self._send(("done", WorkerReport(cpu_s, wall_s, self._lag, driver.server_died, driver.starved)))

    def _report(self, driver: Driver) -> None:
        """Parse what was recorded, one response at a time, and hand it over in batches."""
        batch: list[RequestRecord] = []
        texts: dict[int, str] = {}
        arrivals = 0
        for exchange in driver.finished:
            shot = driver.shots[exchange.index]
            answer = read_answer(exchange, driver.spool)
            record = to_record(exchange, answer, requested_tokens=shot.requested_tokens, digest=shot.digest)
            if record.token_count is TokenCount.EVENTS and record.ok:
                texts[record.index] = "".join(read_answer(exchange, driver.spool, keep_text=True).text)
            batch.append(record)
            arrivals += len(record.arrivals_ns)
            if arrivals >= BATCH_ARRIVALS:
                self._send(("records", batch, texts))
                batch, texts, arrivals = [], {}, 0
        self._send(("records", batch, texts))
        self._send(("reported",))
        driver.prepare()

    def _send(self, message: object) -> None:
        data = memoryview(frame(message))
        while data:
            data = data[os.write(self._out, data) :]


async def serve(out: int) -> None:
    """Serve one generator until it closes our input."""
    loop = asyncio.get_running_loop()
    worker = Worker(loop, out)
    await loop.connect_read_pipe(lambda: worker, sys.stdin.buffer)
    await worker.over


def raise_descriptor_limit() -> None:
    """Allow as many open sockets as the system lets this user have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # some systems refuse; the soft limit stays
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def main() -> None:
    """Run the worker; a Ctrl-C is the generator's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a stray print must not corrupt the messages
    raise_descriptor_limit()
    with contextlib.suppress(BrokenPipeError):  # the generator was killed
        uvloop.run(serve(out))


if __name__ == "__main__":
    main()
