"""Measures one load point: workers send and stamp, this side feeds, watches, stops and sums up."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from shakedown.client.address import parse_base_url, post_head
from shakedown.domain.metric import ClientProof, CounterWindow, PointSummary, Telemetry
from shakedown.domain.request import RequestRecord
from shakedown.domain.workload import PointPlan, Target
from shakedown.load.bodies import PATHS, headers
from shakedown.load.messages import Job
from shakedown.load.phases import Hooks, Phase, Progress, Run, share
from shakedown.load.pool import WorkerPool
from shakedown.load.prompts import PromptSource
from shakedown.load.sampling import CounterSampling, Sampler
from shakedown.load.stopping import StopCondition
from shakedown.load.telemetry import TelemetrySampling
from shakedown.load.timetable import Shots
from shakedown.load.tokenizers import Tokenizer
from shakedown.stats.client import client_proof
from shakedown.stats.summary import PointFacts, summarize

__all__ = ["PointResult", "Progress", "run_point"]

SLOTS_PER_WORKER = 1024
"""One core of 2020 or later carries this many streams at 50 tokens/s each with room to spare (docs/benchmarks.md)."""


@dataclass(slots=True)
class PointResult:
    """What a point measured."""

    records: list[RequestRecord]
    summary: PointSummary


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
    stop_when: Sequence[StopCondition] = (),
    pool: WorkerPool | None = None,
    server_env: Mapping[str, str] | None = None,
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
        stop_when: conditions that end the measured window before its extent (``shakedown.load.stopping``).
        pool: worker processes to use again; None starts and ends its own.
        server_env: of a server on this machine, beside or instead of this process's: it says which GPUs it sees.

    Raises:
        UserError: if the base URL is none, or a header holds a line break.
        ShakedownError: if a worker process ends by itself.
    """
    jobs = _jobs(target, plan, workers)
    seen = _sent_before.setdefault(target.base_url, set())
    hooks = Hooks(on_progress, should_stop, stop_when)
    with contextlib.ExitStack() as stack:
        lent = pool or stack.enter_context(WorkerPool())
        run = Run(lent, plan, Shots(target, plan, prompts, seen), hooks)
        whole = False
        try:
            lent.assign(jobs)
            if plan.warmup_requests and not run.warm_up():
                return _result(plan, [], run, CounterWindow(), Telemetry())
            run.stock()
            with CounterSampling(sample_server) as counters, TelemetrySampling(server_env or {}) as telemetry:
                run.measure()
            records = run.collect(tokenizer)
            whole = run.phase.stop_reason is None
        finally:
            if not whole:
                lent.close()  # workers that were stopped in the middle are not used again
        return _result(plan, records, run, counters.window, telemetry.readings)


_sent_before: dict[str, set[int]] = {}
"""Digests of what this process sent to each base URL: a prefix cache would make a repeated prompt a fairy tale."""


def _jobs(target: Target, plan: PointPlan, workers: int | None) -> list[Job]:
    address = parse_base_url(target.base_url)
    slots = plan.level.concurrency
    count = workers if workers is not None else _worker_count(slots)
    if slots is not None:
        count = max(1, min(count, slots))
    head = post_head(address, PATHS[target.endpoint], headers(target))
    return [
        Job(
            host=address.host,
            port=address.port,
            tls=address.tls,
            verify_tls=target.verify_tls,
            slots=None if slots is None else share(slots, count, number),
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


def _result(
    plan: PointPlan, records: list[RequestRecord], run: Run, counters: CounterWindow, telemetry: Telemetry
) -> PointResult:
    phase = run.phase
    facts = PointFacts(
        workload=plan.workload.name,
        client=_proof(records, phase),
        concurrency=plan.level.concurrency,
        request_rate=plan.level.request_rate,
        repeat=plan.repeat,
        slo=plan.workload.slo,
        repeated_prompts=run.shots.repeated,
        interrupted=phase.interrupted,
        stop_reason=phase.stop_reason,
        counters=counters,
        telemetry=telemetry,
    )
    return PointResult(records, summarize(records, facts))


def _proof(records: list[RequestRecord], phase: Phase) -> ClientProof:
    reports = list(phase.reports.values())
    return client_proof(
        records,
        cpu_s=[report.cpu_s for report in reports],
        wall_s=[report.wall_s for report in reports],
        loop_lag_ns=[lag for report in reports for lag in report.loop_lag_ns],
        starved=any(report.starved for report in reports),
    )
