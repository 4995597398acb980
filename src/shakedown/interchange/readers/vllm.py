"""``vllm bench serve --save-result``, and each run of ``vllm bench sweep serve``.

Keys as vLLM 0.32 writes them (``vllm/benchmarks/serve.py``). Its TPOT is ours; ITL gaps are per chunk; throughput is
over the whole run. Percentiles are those of ``--metric-percentiles`` (p99 unless asked), E2EL only where
``--percentile-metrics`` names it.
"""

from __future__ import annotations

import math

from shakedown.domain.metric import Distribution, PointSummary
from shakedown.interchange.base import NO_PROOF, WORKLOAD, Document, Measured, Reader, maybe, number, positive, spread
from shakedown.stats import summary


def recognises(document: Document) -> bool:
    """Whether it is one: SGLang writes most of these keys, too, but no ``model_id``."""
    return {"model_id", "output_throughput", "mean_ttft_ms"} <= document.keys()


def read(document: Document) -> Measured:
    """Read one run."""
    slots = maybe(document.get("max_concurrency"))
    rate = _rate(document.get("request_rate"))
    completed = number(document["completed"])
    inputs = maybe(document.get("total_input_tokens"))
    point = PointSummary(
        workload=WORKLOAD,
        concurrency=None if slots is None else int(slots),
        request_rate=None if slots is not None else rate,
        requests=int(number(document.get("num_prompts", completed))),
        ok=int(completed),
        errors={"failed": int(failed)} if (failed := maybe(document.get("failed"))) else {},
        duration_s=number(document["duration"]),
        output_tokens=int(number(document["total_output_tokens"])),
        input_tokens=None if inputs is None else int(inputs),
        output_tokens_per_s=positive(document["output_throughput"]),
        whole_window_output_tokens_per_s=positive(document["output_throughput"]),
        per_request_tokens_per_s=None,
        requests_per_s=positive(document.get("request_throughput")),
        goodput_requests_per_s=maybe(document.get("request_goodput")),
        ttft_s=distribution(document, "ttft", completed),
        itl_s=distribution(document, "itl", completed),
        tpot_s=distribution(document, "tpot", completed),
        e2el_s=distribution(document, "e2el", completed) or _latencies(document),
        accept_length=positive(document.get("spec_decode_acceptance_length")),
        draft_acceptance_rate=_share(document.get("spec_decode_acceptance_rate")),
        client=NO_PROOF,
    )
    return Measured(points=(point,), model=str(document["model_id"]))


def _latencies(document: Document) -> Distribution | None:
    """End-to-end latencies of all requests, seconds, which stand in every file; only where none failed."""
    values = document.get("latencies")
    if not isinstance(values, list) or document.get("failed"):
        return None
    return summary.distribution([number(value) for value in values])


def distribution(document: Document, metric: str, samples: float) -> Distribution | None:
    """One metric of vLLM's and SGLang's flat keys: ``mean_ttft_ms``, ``median_ttft_ms``, ``p99_ttft_ms``."""
    return spread(
        samples,
        document.get(f"mean_{metric}_ms"),
        document.get(f"median_{metric}_ms"),
        p90=document.get(f"p90_{metric}_ms"),
        p99=document.get(f"p99_{metric}_ms"),
        max=document.get(f"max_{metric}_ms"),
    )


def _rate(value: object) -> float | None:
    """A rate; vLLM writes ``inf`` as text."""
    return math.inf if value == "inf" else maybe(value)


def _share(percent: object) -> float | None:
    """Acceptance is written in per cent."""
    found = maybe(percent)
    return None if found is None else found / 100


READER = Reader(name="vllm", tool="vLLM bench serve", recognises=recognises, read=read)
