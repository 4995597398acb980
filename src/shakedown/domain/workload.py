"""Workloads and load points: what is sent, how much, and until when."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from shakedown.domain.base import Value


class Arrival(StrEnum):
    """The law of the gaps between requests of an open loop."""

    CONSTANT = "constant"
    POISSON = "poisson"
    GAMMA = "gamma"


class Workload(Value):
    """One kind of traffic.

    ``prompts`` names its sources: text, text:prose|code|chat, repeating, random-tokens, sharegpt:FILE, jsonl:FILE,
    trace:FILE; several sources alternate request by request.
    """

    name: str
    prompts: tuple[str, ...] = ("text",)
    input_tokens: int = Field(default=512, ge=1)
    output_tokens: int = Field(default=128, ge=1)
    concurrency: tuple[int, ...] = ()
    request_rate: tuple[float, ...] = ()
    """Requests per second of an open loop; infinity sends all at once."""
    arrival: Arrival = Arrival.POISSON
    ramp_to: float | None = Field(default=None, gt=0)
    """The rate at the end of a point that starts at its request rate and changes it linearly over ``duration_s``."""
    burstiness: float = Field(default=1.0, gt=0)
    """Shape of the gamma law: 1 is Poisson, smaller is burstier."""
    requests: int | None = Field(default=None, ge=1)
    """Measured requests per load point, on top of warm-up; never fewer than slots are sent."""
    duration_s: float | None = Field(default=None, gt=0)
    warmup_requests: int | None = Field(default=None, ge=0)
    repeats: int | None = Field(default=None, ge=1)
    weight: float = Field(default=1.0, gt=0)
    slo: dict[str, float] = Field(default_factory=dict)
    """Limits in seconds, keyed metric_percentile: ``{"ttft_p99": 2.0, "tpot_p99": 0.05}``."""
    ignore_eos: bool = True
    seed: int = 0


class LoadLevel(Value):
    """The load of one point: a concurrency (closed loop) or a request rate (open loop), never both."""

    concurrency: int | None = Field(default=None, ge=1)
    request_rate: float | None = Field(default=None, gt=0)


class PointPlan(Value):
    """One load point to measure: a workload at one level, one repeat."""

    workload: Workload
    level: LoadLevel
    repeat: int = Field(default=0, ge=0)
    requests: int = Field(ge=1)
    warmup_requests: int = Field(default=0, ge=0)


class Target(Value):
    """Where the requests go."""

    base_url: str
    """Scheme, host, port and optional path prefix, without ``/v1``."""
    model: str
    endpoint: Literal["completions", "chat"] = "completions"
    api_key: str | None = Field(default=None, repr=False)
    headers: dict[str, str] = Field(default_factory=dict)
    extra_body: dict[str, object] = Field(default_factory=dict)
    request_timeout_s: float = Field(default=600.0, gt=0)
    stall_timeout_s: float = Field(default=120.0, gt=0)
    """A stream silent for this long is ended and counted as ``timeout``."""
    verify_tls: bool = True
    stream: bool = True
    """False asks for the answer in one body; then only end-to-end latency and throughput are measured."""
