"""Summaries of a load point. Names and formulas: docs/metrics.md. What was not measured is None, never 0."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from shakedown.domain.base import Value


class Distribution(Value):
    """Mean, percentiles and maximum of a metric over ``samples`` values; a p99 of few samples is what it is.

    Figures of another load generator may lack the upper percentiles and the maximum; Shakedown's own have all.
    """

    mean: float
    p50: float
    p90: float | None
    p99: float | None
    max: float | None
    samples: int = Field(ge=1)


class ClientProof(Value):
    """The proof that the client was not the limit; other load generators give none."""

    cpu_s: float | None
    send_lateness_s: Distribution | None
    loop_lag_s: Distribution | None
    limited: bool | None
    """True when lateness, lag or CPU show that the client shaped the result; None: not known."""
    workers: int = Field(default=1, ge=1)


class CounterWindow(Value):
    """The server's own counters over the measured window, in one meaning for all engines; None where it has none."""

    prompt_tokens: float | None = None
    generated_tokens: float | None = None
    drafts: float | None = None
    """Verification steps that had a draft."""
    drafted_tokens: float | None = None
    accepted_tokens: float | None = None
    accepted_per_position: tuple[float, ...] | None = None
    finished_requests: float | None = None
    """Each brought one token from its prefill, which no decode step made."""
    accept_length: float | None = None
    """A gauge of servers that show the length and may not count what it is made of: mean of its readings."""
    preemptions: float | None = None
    running_max: float | None = None
    queued_max: float | None = None
    kv_usage_max: float | None = None


class Telemetry(Value):
    """GPU readings over the window, a list element per GPU; None where NVML has none."""

    power_w_mean: tuple[float, ...] | None = None
    utilization_mean: tuple[float, ...] | None = None
    memory_used_bytes_max: tuple[int, ...] | None = None
    sm_clock_mhz_min: tuple[int, ...] | None = None
    throttled: bool | None = None
    pcie_rx_bytes_per_s_mean: tuple[float, ...] | None = None
    """Into the GPU."""
    pcie_tx_bytes_per_s_mean: tuple[float, ...] | None = None
    """Out of the GPU."""


class PointSummary(Value):
    """One measured load point; keys of the results vocabulary."""

    workload: str
    concurrency: int | None = None
    request_rate: float | None = None
    repeat: int = 0
    requests: int = Field(ge=0)
    ok: int = Field(ge=0)
    errors: dict[str, int] = Field(default_factory=dict)
    duration_s: float
    window: Literal["steady", "whole"] = "whole"
    """What the throughput figures are over."""
    output_tokens: int
    input_tokens: int | None = None
    output_tokens_per_s: float | None
    whole_window_output_tokens_per_s: float | None = None
    per_request_tokens_per_s: float | None
    requests_per_s: float | None
    goodput_requests_per_s: float | None = None
    ttft_s: Distribution | None
    itl_s: Distribution | None
    tpot_s: Distribution | None
    e2el_s: Distribution | None
    accept_length: float | None = None
    draft_acceptance_rate: float | None = None
    token_count: str = "usage"  # noqa: S105 - a source of counts, not a password
    """Where output tokens were counted: usage, tokenizer, events, or mixed."""
    itl_unit: Literal["token", "event"] = "event"
    """Whether a gap that brought m tokens counted as m gaps, or as it came."""
    early_stops: int = 0
    """Requests that ended with fewer tokens than asked."""
    repeated_prompts: int = 0
    interrupted: bool = False
    stop_reason: str | None = None
    """Why the point ended before its request count: saturation, interval, server_died, interrupted; else None."""
    client: ClientProof
    counters: CounterWindow = Field(default_factory=CounterWindow)
    telemetry: Telemetry = Field(default_factory=Telemetry)
