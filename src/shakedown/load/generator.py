"""Measures one load point: workers send and stamp, this side feeds, watches, stops and sums up."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field

from shakedown.client.address import parse_base_url, post_head
from shakedown.client.clock import now_ns
from shakedown.domain.metric import ClientProof, CounterWindow, PointSummary
from shakedown.domain.request import RequestRecord, TokenCount
from shakedown.domain.workload import PointPlan, Target
from shakedown.load.bodies import PATHS, headers
from shakedown.load.messages import Job, Tick, WorkerReport
from shakedown.load.pool import WorkerPool
from shakedown.load.prompts import PromptSource
from shakedown.load.sampling import CounterSampling, Sampler
from shakedown.load.timetable import Extent, Shots, due_offsets, extent
from shakedown.load.tokenizers import Tokenizer
from shakedown.stats.client import client_proof
from shakedown.stats.summary import PointFacts, summarize

START_DELAY_NS = 20_000_000
"""Between the order to begin and the first send: time for the order to reach every worker."""
SLOTS_PER_WORKER = 1024
"""One core of 2020 or later carries this many streams at 50 tokens/s each with room to spare (docs/benchmarks.md)."""
STOCK = 4096
"""Prompts built before the clock starts; further ones follow while the point runs, outside the workers."""
OPEN_CONNECTIONS = 256


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


@dataclass(slots=True)
class PointResult:
    """What a point measured."""

    records: list[RequestRecord]
    summary: PointSummary


@dataclass(slots=True)
class _Phase:
    """How a phase is going, seen from here."""

    extent: Extent
    ticks: dict[int, Tick] = field(default_factory=dict)
    reports: dict[int, WorkerReport] = field(default_factory=dict)
    sent: dict[int, int] = field(default_factory=dict)
    stop_reason: str | None = None
    interrupted: bool = False


def run_point(
    target: Target,
    plan: PointPlan,
    prompts: PromptSource,
    *,
    tokenizer: Tokenizer | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    sample_server: Sampler | None = None,
    workers: int | None = None,
) -> PointResult:
    """Measure one load point.

    Warm-up requests are sent first and are in no figure. A bad server never raises: each failure is a record with its
    own name. If the server dies, the point ends with what it has and ``stop_reason`` ``server_died``; Ctrl-C and
    ``should_stop`` end it likewise with ``interrupted``.

    Args:
        target: where requests go.
        plan: workload, level and extent.
        prompts: one source for all points of a server's life, so that nothing is sent twice.
        tokenizer: counts output tokens where the server sends no usage; without it they are events.
        on_progress: called several times a second.
        should_stop: polled several times a second.
        sample_server: cumulative counters and gauges of the server; called beside the load, not in its way.
        workers: processes that send; None decides by concurrency and cores.

    Raises:
        UserError: if the base URL is none, or a header holds a line break.
        ShakedownError: if a worker process ends by itself.
    """
    jobs = _jobs(target, plan, workers)
    seen = _sent_before.setdefault(target.base_url, set())
    with WorkerPool(jobs) as pool:
        pool.wait_for("ready")
        run = _Run(pool, plan, Shots(target, plan, prompts, seen), on_progress, should_stop)
        if plan.warmup_requests and not run.warm_up():
            return _result(plan, [], run.phase, CounterWindow(), run.shots.repeated)
        run.stock()
        sampling = CounterSampling(sample_server) if sample_server is not None else None
        run.measure()
        counters = sampling.finish() if sampling is not None else CounterWindow()
        records = run.collect(tokenizer)
        return _result(plan, records, run.phase, counters, run.shots.repeated)


_sent_before: dict[str, set[int]] = {}
"""Digests of what this process sent to each base URL: a prefix cache would make a repeated prompt a fairy tale."""


def _jobs(target: Target, plan: PointPlan, workers: int | None) -> list[Job]:
    address = parse_base_url(target.base_url)
    slots = plan.level.concurrency
    count = workers if workers is not None else _worker_count(slots)
    if slots is not None:
        count = max(1, min(count, slots))
    connections = slots if slots is not None else min(OPEN_CONNECTIONS, max(plan.requests, 1))
    if plan.level.request_rate is not None and math.isinf(plan.level.request_rate):
        connections = plan.requests
    head = post_head(address, PATHS[target.endpoint], headers(target))
    return [
        Job(
            host=address.host,
            port=address.port,
            tls=address.tls,
            verify_tls=target.verify_tls,
            slots=None if slots is None else _share(slots, count, number),
            connections=_share(connections, count, number),
            request_timeout_s=target.request_timeout_s,
            stall_timeout_s=target.stall_timeout_s,
            head=head,
        )
        for number in range(count)
    ]


def _worker_count(slots: int | None) -> int:
    """One worker for each thousand slots, and never more than half the cores: the server needs the others."""
    cores = os.cpu_count() or 1
    return max(1, min(math.ceil((slots or 1) / SLOTS_PER_WORKER), cores // 2))


def _share(total: int, parts: int, number: int) -> int:
    return total // parts + (1 if number < total % parts else 0)


class _Run:
    """The phases of one point over one pool."""

    def __init__(
        self,
        pool: WorkerPool,
        plan: PointPlan,
        shots: Shots,
        on_progress: Callable[[Progress], None] | None,
        should_stop: Callable[[], bool] | None,
    ) -> None:
        self._pool = pool
        self._plan = plan
        self.shots = shots
        self._on_progress = on_progress
        self._should_stop = should_stop
        self._due: list[float] | None = None
        self._built = 0
        self._last: tuple[int, float] | None = None
        self.phase = _Phase(extent(plan))

    # --- before ---

    def warm_up(self) -> bool:
        """Send the warm-up requests, all at once as a closed loop would; False if the server died of it."""
        self.phase = _Phase(Extent(self._plan.warmup_requests, None))
        self._feed(self._plan.warmup_requests, [0.0] * self._plan.warmup_requests)
        self._pool.send("no_more")
        self._drive(None)
        died = any(report.server_died for report in self.phase.reports.values())
        stopped = self.phase.stop_reason is not None
        if died:
            self.phase.stop_reason = "server_died"
        self._pool.send("prepare")
        return not died and not stopped

    def stock(self) -> None:
        """Build the prompts of the measured window, or the first of them."""
        self.phase = _Phase(extent(self._plan))
        self._built = 0
        requests = self.phase.extent.requests
        if requests is not None:
            self._due = due_offsets(self._plan, requests)
        slots = self._plan.level.concurrency
        wanted = requests if requests is not None else min(STOCK, 8 * (slots or 1) + 256)
        if slots is not None:
            wanted = min(wanted, max(STOCK, 2 * slots))
        self._feed(wanted, self._due)

    def _feed(self, count: int, due: list[float] | None) -> None:
        """Build ``count`` more shots and deal them to the workers in turn."""
        offsets = None if due is None else iter(due[self._built : self._built + count])
        shots = self.shots.take(count, offsets)
        workers = self._pool.workers
        for number, worker in enumerate(workers):
            share = shots[(number - self._built) % len(workers) :: len(workers)]
            if share:
                worker.send("shots", share)
                self.phase.sent[number] = self.phase.sent.get(number, 0) + len(share)
        self._built += count

    # --- the window ---

    def measure(self) -> None:
        """Run the measured window to its end, whatever ends it."""
        if self.phase.extent.requests is not None and self._built >= self.phase.extent.requests:
            self._pool.send("no_more")
        self._drive(self.phase.extent.duration_s)
        if any(report.server_died for report in self.phase.reports.values()):
            self.phase.stop_reason = "server_died"

    def _drive(self, duration_s: float | None) -> None:
        start_ns = now_ns() + START_DELAY_NS
        self._pool.send("begin", start_ns)
        deadline_ns = math.inf if duration_s is None else start_ns + duration_s * 1e9
        draining = False
        while len(self.phase.reports) < len(self._pool.workers):
            try:
                self._step(start_ns)
                if self.phase.stop_reason is None and self._should_stop is not None and self._should_stop():
                    self._stop("interrupted")
            except KeyboardInterrupt:
                if self.phase.interrupted:
                    raise  # the second Ctrl-C: the user will not wait
                self._stop("interrupted")
            if not draining and now_ns() >= deadline_ns:
                draining = True
                self._pool.send("drain")
            elif not draining and self.phase.stop_reason is None:
                self._feed_further()

    def _step(self, start_ns: int) -> None:
        received = self._pool.receive(timeout_s=0.1)
        if received is None:
            return
        number, message = received
        if message[0] == "tick":
            self.phase.ticks[number] = message[1]
            self._report_progress(start_ns)
        elif message[0] == "done":
            self.phase.reports[number] = message[1]
            if message[1].server_died:
                self._pool.send("stop")

    def _stop(self, reason: str) -> None:
        self.phase.stop_reason = reason
        self.phase.interrupted = True
        self._pool.send("stop")

    def _feed_further(self) -> None:
        """Keep more shots queued than the workers can start before we look again."""
        requests = self.phase.extent.requests
        left = math.inf if requests is None else requests - self._built
        started = sum(tick.started for tick in self.phase.ticks.values())
        stock = 4 * (self._plan.level.concurrency or 1) + 256
        if left <= 0 or self._built - started > stock // 2:
            return
        self._feed(int(min(left, stock)), self._due)
        if requests is not None and self._built >= requests:
            self._pool.send("no_more")

    def _report_progress(self, start_ns: int) -> None:
        if self._on_progress is None or len(self.phase.ticks) < len(self._pool.workers):
            return
        ticks = list(self.phase.ticks.values())
        events = None if any(tick.events is None for tick in ticks) else sum(tick.events or 0 for tick in ticks)
        at = now_ns()
        rate = None
        if events is not None:
            if self._last is not None and at > self._last[0]:
                rate = max(0.0, events - self._last[1]) / (at - self._last[0]) * 1e9
            self._last = (at, events)
        self._on_progress(
            Progress(
                done=sum(tick.done for tick in ticks),
                requests=self.phase.extent.requests,
                failed=sum(tick.failed for tick in ticks),
                running=sum(tick.running for tick in ticks),
                output_tokens_per_s=rate,
                elapsed_s=max(0.0, (at - start_ns) / 1e9),
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


def _count_tokens(records: list[RequestRecord], texts: dict[int, str], tokenizer: Tokenizer | None) -> None:
    """Count output tokens that the server did not count, where there is something better than events."""
    if tokenizer is None or not tokenizer.exact:
        return
    for record in records:
        text = texts.get(record.index)
        if text is not None and (ids := tokenizer.encode(text)) is not None:
            record.output_tokens = len(ids)
            record.token_count = TokenCount.TOKENIZER


def _result(
    plan: PointPlan, records: list[RequestRecord], phase: _Phase, counters: CounterWindow, repeated: int
) -> PointResult:
    facts = PointFacts(
        workload=plan.workload.name,
        client=_proof(records, phase),
        concurrency=plan.level.concurrency,
        request_rate=plan.level.request_rate,
        repeat=plan.repeat,
        slo=plan.workload.slo,
        repeated_prompts=repeated,
        interrupted=phase.interrupted,
        stop_reason=phase.stop_reason,
        counters=counters,
    )
    return PointResult(records, summarize(records, facts))


def _proof(records: list[RequestRecord], phase: _Phase) -> ClientProof:
    reports = list(phase.reports.values())
    return client_proof(
        records,
        cpu_s=[report.cpu_s for report in reports],
        wall_s=[report.wall_s for report in reports],
        loop_lag_ns=[lag for report in reports for lag in report.loop_lag_ns],
        starved=any(report.starved for report in reports),
    )
