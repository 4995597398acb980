"""A load sweep over a running server: one point after another, and what is to be said about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from shakedown.client.address import parse_base_url
from shakedown.client.control import ControlClient
from shakedown.domain.base import Scalar, Value
from shakedown.domain.errors import ClientError
from shakedown.domain.metric import PointSummary
from shakedown.domain.result import SCHEMA, Finding
from shakedown.domain.workload import LoadLevel, PointPlan, Target, Workload
from shakedown.load.findings import level as level_name
from shakedown.load.findings import point_findings
from shakedown.load.generator import PointResult, Progress, run_point
from shakedown.load.knee import knee
from shakedown.load.prompts import PromptSource, prompt_source
from shakedown.load.sampling import Sampler
from shakedown.load.search import Counts, Kind, SearchResult, search
from shakedown.load.server import counter_sampler, fit_target, identify
from shakedown.load.stopping import IntervalNarrow, Saturated, StopCondition
from shakedown.load.tokenizers import Tokenizer, find_tokenizer
from shakedown.stats.goodput import needed_share, slo_parts, within_limit

REQUESTS_PER_SLOT = 4
MIN_REQUESTS = 32
WARMUP_LIMIT = 16


class ServerInfo(Value):
    """The server as it described itself, and how its tokens are counted."""

    base_url: str
    model: str
    engine: str | None
    effective: dict[str, Scalar | None] = Field(default_factory=dict)
    input_lengths: Literal["server", "file", "estimate"]
    """Who counted the tokens of the prompts."""


class BenchResult(Value):
    """What ``bench --json`` prints; the last three keys are beyond the shared vocabulary."""

    schema_: Literal["shakedown/1"] = Field(default=SCHEMA, alias="schema")
    server: ServerInfo
    points: tuple[PointSummary, ...]
    findings: tuple[Finding, ...]
    knee: str | None = None
    """The load after which more costs latency without buying throughput; None for fewer than three levels."""
    search: SearchResult | None = None
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """How to measure, beyond what the workload says."""

    tokenizer_file: str | None = None
    workers: int | None = None
    search: Kind | None = None
    """Look for the highest level that keeps the SLO instead of measuring given ones."""
    search_limit: float = 1024.0
    until_interval: float | None = None
    """End a point when its mean latency is known to this relative half-width."""


@dataclass(frozen=True, slots=True)
class BenchWatch:
    """Who is told what happens; every hook is called in this process, never in the way of the load."""

    on_server: Callable[[ServerInfo], None]
    on_point_start: Callable[[PointPlan], None]
    on_progress: Callable[[Progress], None]
    on_point: Callable[[PointResult], None]


def levels(workload: Workload) -> list[LoadLevel]:
    """Every concurrency, then every rate; a trace without either is replayed by its own times."""
    given = [LoadLevel(concurrency=slots) for slots in workload.concurrency]
    given += [LoadLevel(request_rate=rate) for rate in workload.request_rate]
    return given or [LoadLevel()]


def plan_point(workload: Workload, level: LoadLevel, repeat: int = 0, *, trace_length: int | None = None) -> PointPlan:
    """Fill in what the workload leaves open: requests and warm-up in proportion to the load.

    A trace replayed by its own times has its own number of requests and no warm-up, which would use up its start.
    """
    slots = level.concurrency or 1
    by_trace = level.concurrency is None and level.request_rate is None
    requests = workload.requests or max(MIN_REQUESTS, REQUESTS_PER_SLOT * slots)
    warmup = workload.warmup_requests
    if by_trace and trace_length is not None:
        requests = min(workload.requests or trace_length, trace_length)
        warmup = 0
    if warmup is None:
        warmup = min(slots, WARMUP_LIMIT)
    return PointPlan(workload=workload, level=level, repeat=repeat, requests=requests, warmup_requests=warmup)


def run_bench(target: Target, workload: Workload, *, options: BenchOptions, watch: BenchWatch) -> BenchResult:
    """Measure every level of the workload, or search; an interrupted or dying point is the last.

    ``target.model`` may be empty: the first model that the server lists is taken.

    Raises:
        ClientError: if nobody answers, or no model is given and none is listed.
        UserError: for an address, prompts or a tokenizer that cannot be used.
        ValueError: for objectives that a search cannot decide.
    """
    target = target.model_copy(update={"base_url": parse_base_url(target.base_url).url})
    with ControlClient(
        target.base_url, api_key=target.api_key, headers=target.headers, verify_tls=target.verify_tls
    ) as client:
        facts = identify(client)
        target = fit_target(with_model(target, facts.models), facts.engine)
        tokenizer = find_tokenizer(client, target.model, options.tokenizer_file, endpoint=target.endpoint)
        server = ServerInfo(
            base_url=target.base_url,
            model=target.model,
            engine=facts.engine,
            effective=dict(facts.effective),
            input_lengths=tokenizer.source,
        )
        watch.on_server(server)
        sample = counter_sampler(client, facts.engine)
        bench = _Bench(target, workload, tokenizer=tokenizer, sample=sample, options=options, watch=watch)
        found = None
        if options.search is not None:
            found = bench.search(options.search)
        else:
            bench.sweep()
    points = tuple(bench.points)
    best = knee(points)
    return BenchResult(
        server=server,
        points=points,
        findings=tuple(findings_of(points, workload)),
        knee=level_name(best) if best is not None else None,
        search=found,
        interrupted=bench.interrupted,
    )


class _Bench:
    """One server, one workload: measures points and keeps them."""

    def __init__(
        self,
        target: Target,
        workload: Workload,
        *,
        tokenizer: Tokenizer,
        sample: Sampler | None,
        options: BenchOptions,
        watch: BenchWatch,
    ) -> None:
        self._target = target
        self._workload = workload
        self._tokenizer = tokenizer
        self._sample = sample
        self._options = options
        self._watch = watch
        self._prompts = prompt_source(workload, tokenizer, salt="bench")
        self.points: list[PointSummary] = []
        self.interrupted = False

    def sweep(self) -> None:
        """Measure each level, repeats of a level one after another."""
        for level in levels(self._workload):
            for repeat in range(self._workload.repeats or 1):
                if self._measure(level, repeat) is None:
                    return

    def search(self, kind: Kind) -> SearchResult:
        """Find the highest level that keeps the objectives, from the workload's first level on."""
        slo = self._workload.slo
        needed = {key: needed_share(slo_parts(key)[1]) for key in slo}
        first = levels(self._workload)[0]

        def measure(load: float) -> Counts | None:
            level = LoadLevel(concurrency=int(load)) if kind == "concurrency" else LoadLevel(request_rate=load)
            result = self._measure(level, sum(_load_of(point) == load for point in self.points))
            if result is None:
                return None
            return {key: within_limit(result.records, key, limit) for key, limit in slo.items()}

        start = float(first.concurrency or 1) if kind == "concurrency" else first.request_rate or 1.0
        return search(measure, kind=kind, start=start, limit=self._options.search_limit, needed=needed)

    def _measure(self, level: LoadLevel, repeat: int) -> PointResult | None:
        """Measure one point; None when no further one can be."""
        plan = plan_point(self._workload, level, repeat, trace_length=_length(self._prompts))
        self._watch.on_point_start(plan)
        try:
            result = run_point(
                self._target,
                plan,
                self._prompts,
                tokenizer=self._tokenizer,
                on_progress=self._watch.on_progress,
                sample_server=self._sample,
                workers=self._options.workers,
                stop_when=self._conditions(level),
            )
        except KeyboardInterrupt:  # while prompts were built or records fetched: earlier points are whole
            self.interrupted = True
            return None
        self._watch.on_point(result)
        self.points.append(result.summary)
        self.interrupted = result.summary.interrupted
        return None if self.interrupted or result.summary.stop_reason == "server_died" else result

    def _conditions(self, level: LoadLevel) -> list[StopCondition]:
        conditions: list[StopCondition] = []
        if self._options.until_interval is not None:
            conditions.append(IntervalNarrow(self._options.until_interval))
        if level.request_rate is not None and self._workload.ramp_to is None:
            conditions.append(Saturated())
        return conditions


def _load_of(point: PointSummary) -> float | None:
    return point.concurrency if point.concurrency is not None else point.request_rate


def _length(prompts: PromptSource) -> int | None:
    return len(prompts) if isinstance(prompts, Sized) else None


def findings_of(points: Sequence[PointSummary], workload: Workload) -> list[Finding]:
    """What is to be said about the points, each kind once."""
    return [finding for finding in point_findings(points, workload) if finding is not None]


def with_model(target: Target, models: Sequence[str]) -> Target:
    """Fill in the model's name from what the server lists.

    Raises:
        ClientError: if none is given and none is listed.
    """
    if target.model:
        return target
    if not models:
        raise ClientError("the server lists no model at /v1/models; give --model")
    return target.model_copy(update={"model": models[0]})
