"""A Prometheus scrape job and alert rules with measured thresholds: someone notices when the verdict is true no more.

Names of metrics: SGLang ``srt/observability/metrics_collector.py``, vLLM ``v1/metrics/loggers.py``, llama.cpp
``tools/server/README.md``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.domain.units import latency, number
from shakedown.domain.words import EngineKind
from shakedown.export.base import ExportFormat, Files, fill
from shakedown.export.service import Service

SLACK = 1.5
"""How far beyond the worst measured latency an alert lies: production's prompts are not the campaign's."""


@dataclass(frozen=True, slots=True)
class Names:
    """An engine's metrics; None where it has none of that meaning."""

    ttft: str | None = None
    itl: str | None = None
    queued: str | None = None
    kv_usage: str | None = None
    accept_length: str | None = None
    """A PromQL expression over the last ten minutes."""


NAMES = {
    EngineKind.SGLANG: Names(
        ttft="sglang:time_to_first_token_seconds",
        itl="sglang:inter_token_latency_seconds",
        queued="sglang:num_queue_reqs",
        kv_usage="sglang:token_usage",
        accept_length="avg_over_time(sglang:spec_accept_length{{{job}}}[10m])",
    ),
    EngineKind.VLLM: Names(
        ttft="vllm:time_to_first_token_seconds",
        itl="vllm:inter_token_latency_seconds",
        queued="vllm:num_requests_waiting",
        kv_usage="vllm:kv_cache_usage_perc",
        accept_length="1 + rate(vllm:spec_decode_num_accepted_tokens_total{{{job}}}[10m]) "
        "/ rate(vllm:spec_decode_num_drafts_total{{{job}}}[10m])",
    ),
    EngineKind.LLAMA_CPP: Names(
        queued="llamacpp:requests_deferred",
        accept_length="1 + rate(llamacpp:spec_decode_num_accepted_tokens_total{{{job}}}[10m]) "
        "/ rate(llamacpp:spec_decode_num_drafts_total{{{job}}}[10m])",
    ),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One alert."""

    alert: str
    expression: str
    for_: str
    severity: str
    summary: str
    basis: str
    """What the threshold was taken from."""


def make(result: CampaignResult, service: Service) -> Files:
    """``NAME-scrape.yaml`` and ``NAME-alerts.yaml``."""
    winner = next(c for c in result.candidates if result.winner and c.id == result.winner.id)
    names = NAMES.get(service.engine, Names()) if service.engine else Names()
    return {
        f"{service.name}-scrape.yaml": fill("scrape.yaml.jinja", service=service),
        f"{service.name}-alerts.yaml": fill(
            "alerts.yaml.jinja", service=service, rules=list(rules(result, winner, service, names))
        ),
    }


def rules(result: CampaignResult, winner: CandidateResult, service: Service, names: Names) -> Iterable[Rule]:
    """Alerts that this engine's metrics and this campaign's measurements allow."""
    job = f'job="{service.name}"'
    limit = f"{service.start_limit_s}s"
    yield Rule("Down", f"up{{{job}}} == 0", limit, "critical", "the server does not answer",
               f"a start takes at most {limit}, from a measured boot of {latency(service.boot_s)}")  # fmt: skip
    yield from _latencies(result, winner, job, names)
    if names.queued is not None:
        cap = winner.effective.get("max_running_requests")
        known = f"it runs {cap} at once" if cap is not None else "its limit was not reported"
        yield Rule("Queueing", f"min_over_time({names.queued}{{{job}}}[5m]) > 0", "10m", "warning",
                   "requests wait although the server is as full as it can be", known)  # fmt: skip
    if names.kv_usage is not None:
        yield Rule("KvCacheFull", f"avg_over_time({names.kv_usage}{{{job}}}[5m]) > 0.95", "10m", "warning",
                   "the KV cache is full: requests are preempted or wait", "a share; 1 is full")  # fmt: skip
    yield from _speculation(winner, job, names)


def _latencies(result: CampaignResult, winner: CandidateResult, job: str, names: Names) -> Iterable[Rule]:
    for alert, metric, key, words in (
        ("SlowFirstToken", names.ttft, "ttft", "time to first token"),
        ("SlowTokens", names.itl, "itl", "inter-token latency"),
    ):
        if metric is None:
            continue
        limit = _agreed(result, f"{key}_p99")
        basis = "the campaign's limit"
        if limit is None:
            worst = _worst_p99(winner, key)
            if worst is None:
                continue
            limit, basis = worst * SLACK, f"measured p99 {latency(worst)} at the highest load, times {SLACK:g}"
        quantile = f"histogram_quantile(0.99, sum by (le) (rate({metric}_bucket{{{job}}}[10m])))"
        yield Rule(alert, f"{quantile} > {limit:.6g}", "10m", "warning", f"{words} p99 above {latency(limit)}", basis)


def _agreed(result: CampaignResult, key: str) -> float | None:
    """The loosest limit of the workloads' SLOs: production serves all of them."""
    limits = []
    for workload in result.campaign.workloads:
        slo = workload.get("slo")
        if isinstance(slo, dict) and isinstance(slo.get(key), int | float):
            limits.append(float(slo[key]))
    return max(limits, default=None)


def _worst_p99(winner: CandidateResult, key: str) -> float | None:
    found = (getattr(point, f"{key}_s") for point in winner.points)
    return max((d.p99 for d in found if d is not None and d.p99 is not None), default=None)


def _speculation(winner: CandidateResult, job: str, names: Names) -> Iterable[Rule]:
    measured = [point.accept_length for point in winner.points if point.accept_length is not None]
    if not measured or names.accept_length is None:
        return
    least = min(measured)
    # Half of what the least favourable workload gained per step: below it the winner is no longer what was measured.
    limit = 1 + (least - 1) / 2
    expression = f"{names.accept_length.format(job=job)} < {limit:.4g}"
    basis = f"measured {number(least)} on the least favourable workload"
    summary = f"accept length below {number(limit)}"
    yield Rule("SpeculationPaysNoMore", expression, "30m", "warning", summary, basis)


EXPORT = ExportFormat(name="prometheus", summary="scrape job, and alert rules with measured thresholds", make=make)
