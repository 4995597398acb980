"""The phases of one point over a pool of workers: warm-up, stock, window, collection."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from shakedown.client.clock import now_ns
from shakedown.domain.request import RequestRecord, TokenCount
from shakedown.domain.workload import LoadLevel, PointPlan
from shakedown.load.messages import Tick, WorkerReport
from shakedown.load.pool import WorkerPool
from shakedown.load.stopping import PointView, StopCondition
from shakedown.load.timetable import Extent, Shots, due_offsets, extent
from shakedown.load.tokenizers import Tokenizer

START_DELAY_NS = 20_000_000
"""Between the order to begin and the first send: time for the order to reach every worker."""
STOCK = 4096
"""Prompts built before the clock starts; further ones follow while the point runs, outside the workers."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A running point, several times a second. ``requests`` is None where only time ends the point."""

    done: int
    requests: int | None
    failed: int
    running: int
    output_tokens_per_s: float | None
    """Stream events per second since the last report, an estimate."""
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class Hooks:
    """Whom a running point listens to and tells."""

    on_progress: Callable[[Progress], None] | None
    should_stop: Callable[[], bool] | None
    stop_when: Sequence[StopCondition]


@dataclass(slots=True)
class Phase:
    """How warm-up or window is going, seen from here."""

    extent: Extent
    first: int = 0
    """Requests built before this phase."""
    start_ns: int = 0
    ticks: dict[int, Tick] = field(default_factory=dict)
    reports: dict[int, WorkerReport] = field(default_factory=dict)
    finished: list[tuple[int, int, int]] = field(default_factory=list)
    stop_reason: str | None = None
    interrupted: bool = False

    def take(self, worker: int, tick: Tick, *, keep_finished: bool) -> None:
        """Note a worker's tick; times of finished requests only where a stop condition will look at them."""
        self.ticks[worker] = tick
        if keep_finished:
            self.finished += tick.finished

    def view(self, level: LoadLevel) -> PointView:
        """What stop conditions look at."""
        return PointView(
            elapsed_s=(now_ns() - self.start_ns) / 1e9,
            level=level,
            started=sum(tick.started for tick in self.ticks.values()),
            done=sum(tick.done for tick in self.ticks.values()),
            running=sum(tick.running for tick in self.ticks.values()),
            finished=self.finished,
        )


class Run:
    """The phases of one point over one pool."""

    def __init__(self, pool: WorkerPool, plan: PointPlan, shots: Shots, hooks: Hooks) -> None:
        self._pool = pool
        self._plan = plan
        self._hooks = hooks
        self.shots = shots
        self._due: Iterator[float] | None = None
        self._dealt = 0
        self._last: tuple[int, float] | None = None
        self.phase = Phase(extent(plan))

    # --- before ---

    def warm_up(self) -> bool:
        """Send the warm-up requests, an open loop's all at once; False if the point ended with them."""
        self._begin_phase(Extent(self._plan.warmup_requests, None))
        self._due = None if self._plan.level.concurrency is not None else repeat(0.0)
        self._feed(self._plan.warmup_requests)
        self._pool.send("no_more")
        self._connect(min(self._plan.warmup_requests, self._plan.level.concurrency or self._plan.warmup_requests))
        self._drive(None)
        self._pool.send("prepare")
        return self.phase.stop_reason is None

    def stock(self) -> None:
        """Build the prompts of the measured window, or the first of them."""
        self._begin_phase(extent(self._plan))
        requests = self.phase.extent.requests
        slots = self._plan.level.concurrency
        self._due = None if requests is None else due_offsets(self._plan, requests)
        if slots is None:
            assert requests is not None, "an open loop knows its requests"
            self._feed(requests)
        else:
            self._feed(min(requests or 8 * slots + 256, max(STOCK, 2 * slots)))
        at_once = slots or (requests if self._plan.level.request_rate == math.inf else 1)
        self._connect(at_once or 1)

    def _connect(self, count: int) -> None:
        """Open the connections that the first requests need, before the clock starts."""
        workers = self._pool.workers
        for number, worker in enumerate(workers):
            worker.send("open", share(count, len(workers), number))
        self._pool.wait_for("opened")

    def _begin_phase(self, of: Extent) -> None:
        self.phase = Phase(of, first=self.shots.built)
        self._last = None

    def _feed(self, count: int) -> None:
        """Build shots for ``count`` more requests and deal them to the workers in turn."""
        shots = self.shots.take(count, self._due)
        workers = self._pool.workers
        for number, worker in enumerate(workers):
            share = shots[(number - self._dealt) % len(workers) :: len(workers)]
            if share:
                worker.send("shots", share)
        self._dealt += len(shots)

    def _built(self) -> int:
        return self.shots.built - self.phase.first

    # --- the window ---

    def measure(self) -> None:
        """Run the measured window to its end, whatever ends it."""
        if self.phase.extent.requests is not None and self._built() >= self.phase.extent.requests:
            self._pool.send("no_more")
        self._drive(self.phase.extent.duration_s)

    def _drive(self, duration_s: float | None) -> None:
        start_ns = self.phase.start_ns = now_ns() + START_DELAY_NS
        self._pool.send("begin", start_ns)
        deadline_ns = math.inf if duration_s is None else start_ns + duration_s * 1e9
        draining = False
        while len(self.phase.reports) < len(self._pool.workers):
            try:
                self._step()
                if self._hooks.should_stop is not None and self._hooks.should_stop():
                    self._interrupt()
            except KeyboardInterrupt:
                if self.phase.interrupted:
                    raise  # the second Ctrl-C: the user will not wait
                self._interrupt()
            if not draining and now_ns() >= deadline_ns:
                draining = True
                self._pool.send("drain")
            elif not draining and self.phase.stop_reason is None:
                self._feed_further()
        if any(report.server_died for report in self.phase.reports.values()):
            self.phase.stop_reason = "server_died"

    def _step(self) -> None:
        received = self._pool.receive(timeout_s=0.1)
        if received is None:
            return
        number, message = received
        if message[0] == "tick":
            self.phase.take(number, message[1], keep_finished=bool(self._hooks.stop_when))
            self._report_progress()
            self._consult()
        elif message[0] == "done":
            self.phase.reports[number] = message[1]
            if message[1].server_died:
                self._pool.send("stop")

    def _consult(self) -> None:
        """Ask the stop conditions; the first that speaks ends the point, and what is in flight is given up."""
        if self.phase.stop_reason is not None or len(self.phase.ticks) < len(self._pool.workers):
            return
        view = self.phase.view(self._plan.level)
        for condition in self._hooks.stop_when:
            reason = condition.look(view)
            if reason is not None:
                self.phase.stop_reason = reason
                self._pool.send("stop" if condition.cuts else "drain")
                return

    def _interrupt(self) -> None:
        if not self.phase.interrupted:
            self.phase.stop_reason = "interrupted"
            self.phase.interrupted = True
            self._pool.send("stop")

    def _feed_further(self) -> None:
        """Keep more shots queued than the workers can start before we look again."""
        slots = self._plan.level.concurrency
        requests = self.phase.extent.requests
        left = math.inf if requests is None else requests - self._built()
        if slots is None or left <= 0:
            return
        started = sum(tick.started for tick in self.phase.ticks.values())
        stock = 4 * slots + 256
        if self._built() - started > stock // 2:
            return
        self._feed(int(min(left, stock)))
        if requests is not None and self._built() >= requests:
            self._pool.send("no_more")

    def _report_progress(self) -> None:
        ticks = list(self.phase.ticks.values())
        if self._hooks.on_progress is None or len(ticks) < len(self._pool.workers):
            return
        events = None if any(tick.events is None for tick in ticks) else sum(tick.events or 0 for tick in ticks)
        at = now_ns()
        rate = None
        if events is not None:
            if self._last is not None and at > self._last[0]:
                rate = max(0.0, events - self._last[1]) / (at - self._last[0]) * 1e9
            self._last = (at, events)
        self._hooks.on_progress(
            Progress(
                done=sum(tick.done for tick in ticks),
                requests=self.phase.extent.requests,
                failed=sum(tick.failed for tick in ticks),
                running=sum(tick.running for tick in ticks),
                output_tokens_per_s=rate,
                elapsed_s=max(0.0, (at - self.phase.start_ns) / 1e9),
            )
        )

    # --- after ---

    def collect(self, tokenizer: Tokenizer | None) -> list[RequestRecord]:
        """Fetch the records of all workers, in the order of their requests."""
        self._pool.send("report")
        missing = len(self._pool.workers)
        records: list[RequestRecord] = []
        while missing:
            received = self._pool.receive(timeout_s=3600.0)
            if received is None:
                continue
            message = received[1]
            if message[0] == "records":
                _count_tokens(message[1], message[2], tokenizer)
                records += message[1]
            elif message[0] == "reported":
                missing -= 1
        records.sort(key=lambda record: record.index)
        return records


def share(total: int, parts: int, number: int) -> int:
    """The ``number``-th of ``parts`` whole shares of ``total``, as even as can be."""
    return total // parts + (1 if number < total % parts else 0)


def _count_tokens(records: list[RequestRecord], texts: dict[int, str], tokenizer: Tokenizer | None) -> None:
    """Count output tokens that the server did not count, where there is something better than events."""
    if tokenizer is None or not tokenizer.exact:
        return
    for record in records:
        text = texts.get(record.index)
        if text is not None and (ids := tokenizer.encode(text)) is not None:
            record.output_tokens = len(ids)
            record.token_count = TokenCount.TOKENIZER
