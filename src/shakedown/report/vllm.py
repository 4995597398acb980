"""The result in the keys of ``vllm bench serve --save-result``: a list, an object for each load point.

For scripts and dashboards that read vLLM's files. Keys as vLLM 0.32 writes them (``vllm/benchmarks/serve.py``);
milliseconds. What was not measured is left out, as vLLM itself does. ``label`` is the candidate's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from shakedown.domain.metric import PointSummary
from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.report.base import Document, Format

_METRICS = {"ttft": "ttft_s", "tpot": "tpot_s", "itl": "itl_s", "e2el": "e2el_s"}
_STATISTICS = {"mean": "mean", "median": "p50", "p90": "p90", "p99": "p99"}


def objects(result: CampaignResult) -> Iterator[dict[str, object]]:
    """One object for each load point and repeat, in the order of the candidates."""
    for candidate in result.candidates:
        for point in candidate.points:
            yield {key: value for key, value in _object(result, candidate, point).items() if value is not None}


def _object(result: CampaignResult, candidate: CandidateResult, point: PointSummary) -> dict[str, object]:
    model = candidate.effective.get("model_name") or result.model.get("name") or result.model.get("path")
    rate = point.request_rate
    acceptance = point.draft_acceptance_rate
    return {
        "label": candidate.label or candidate.id,
        "workload": point.workload,
        "model_id": str(model),
        "num_prompts": point.requests,
        "request_rate": "inf" if rate is None or rate == float("inf") else rate,
        "max_concurrency": point.concurrency,
        "duration": point.duration_s,
        "completed": point.ok,
        "failed": point.requests - point.ok,
        "total_input_tokens": point.input_tokens,
        "total_output_tokens": point.output_tokens,
        "request_throughput": point.requests_per_s,
        "request_goodput": point.goodput_requests_per_s,
        "output_throughput": point.whole_window_output_tokens_per_s,
        "spec_decode_acceptance_length": point.accept_length,
        "spec_decode_acceptance_rate": None if acceptance is None else acceptance * 100,
        **_latencies(point),
    }


def _latencies(point: PointSummary) -> dict[str, object]:
    found: dict[str, object] = {}
    for metric, field in _METRICS.items():
        distribution = getattr(point, field)
        for word, statistic in _STATISTICS.items():
            value = None if distribution is None else getattr(distribution, statistic)
            found[f"{word}_{metric}_ms"] = None if value is None else value * 1e3
    return found


FORMAT = Format(
    name="vllm",
    suffix=".vllm.json",
    make=lambda result, _: Document.of(json.dumps(list(objects(result)), indent=2) + "\n"),
)
