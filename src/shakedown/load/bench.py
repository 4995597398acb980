"""A load sweep over a running server: one point after another, and what is to be said about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from shakedown.client.control import ControlClient
from shakedown.domain.base import Scalar, Value
from shakedown.domain.errors import ClientError
from shakedown.domain.metric import PointSummary
from shakedown.domain.result import SCHEMA, Finding
from shakedown.domain.workload import LoadLevel, PointPlan, Target, Workload
from shakedown.load.findings import point_findings
from shakedown.load.generator import PointResult, Progress, run_point
from shakedown.load.prompts import prompt_source
from shakedown.load.server import counter_sampler, fit_target, identify
from shakedown.load.tokenizers import find_tokenizer

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
    """What ``bench --json`` prints."""

    schema_: Literal["shakedown/1"] = Field(default=SCHEMA, alias="schema")
    server: ServerInfo
    points: tuple[PointSummary, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class BenchWatch:
    """Who is told what happens; every hook is called in this process, never in the way of the load."""

    on_server: Callable[[ServerInfo], None]
    on_point_start: Callable[[PointPlan], None]
    on_progress: Callable[[Progress], None]
    on_point: Callable[[PointResult], None]


def point_plans(workload: Workload) -> list[PointPlan]:
    """One plan for each concurrency and each request rate, repeats of a level one after another."""
    levels = [LoadLevel(concurrency=slots) for slots in workload.concurrency]
    levels += [LoadLevel(request_rate=rate) for rate in workload.request_rate]
    return [plan_point(workload, level, repeat) for level in levels for repeat in range(workload.repeats or 1)]


def plan_point(workload: Workload, level: LoadLevel, repeat: int = 0) -> PointPlan:
    """Fill in what the workload leaves open: requests and warm-up in proportion to the load."""
    slots = level.concurrency or 1
    requests = workload.requests or max(MIN_REQUESTS, REQUESTS_PER_SLOT * slots)
    warmup = workload.warmup_requests
    if warmup is None:
        warmup = min(slots, WARMUP_LIMIT)
    return PointPlan(workload=workload, level=level, repeat=repeat, requests=requests, warmup_requests=warmup)


def run_bench(
    target: Target,
    workload: Workload,
    *,
    tokenizer_file: str | None,
    watch: BenchWatch,
    workers: int | None = None,
) -> BenchResult:
    """Measure every level of the workload; an interrupted or dying point is the last.

    ``target.model`` may be empty: the first model that the server lists is taken.

    Raises:
        ClientError: if nobody answers, or no model is given and none is listed.
        UserError: for prompts or a tokenizer that cannot be used.
    """
    with ControlClient(target.base_url, api_key=target.api_key) as client:
        facts = identify(client)
        target = with_model(target, facts.models)
        target = fit_target(target, facts.engine)
        tokenizer = find_tokenizer(client, target.model, tokenizer_file)
        server = ServerInfo(
            base_url=target.base_url,
            model=target.model,
            engine=facts.engine,
            effective=dict(facts.effective),
            input_lengths=tokenizer.source,
        )
        watch.on_server(server)
        prompts = prompt_source(workload, tokenizer, salt="bench")
        sample = counter_sampler(client, facts.engine)
        points: list[PointSummary] = []
        for plan in point_plans(workload):
            watch.on_point_start(plan)
            result = run_point(
                target,
                plan,
                prompts,
                tokenizer=tokenizer,
                on_progress=watch.on_progress,
                sample_server=sample,
                workers=workers,
            )
            watch.on_point(result)
            points.append(result.summary)
            if result.summary.interrupted or result.summary.stop_reason == "server_died":
                break
    return BenchResult(server=server, points=tuple(points), findings=tuple(findings_of(points, workload)))


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
