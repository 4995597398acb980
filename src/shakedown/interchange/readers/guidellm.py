"""``guidellm run --output kind=json``: a list of benchmarks, a load level each.

GuideLLM's inter-token latency is (E2EL - TTFT) / (n - 1) of each request, which is TPOT here; its own TPOT counts the
first token and has no place. It keeps no gaps between tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from shakedown.domain.metric import Distribution, PointSummary
from shakedown.interchange.base import (
    NO_PROOF,
    WORKLOAD,
    Document,
    Measured,
    Reader,
    mapping,
    maybe,
    number,
    positive,
    spread,
)


def recognises(document: Document) -> bool:
    """Whether it is one."""
    return "guidellm_version" in mapping(document.get("metadata")) and isinstance(document.get("benchmarks"), list)


def read(document: Document) -> Measured:
    """Read all its benchmarks."""
    benchmarks = document["benchmarks"]
    if not isinstance(benchmarks, list):
        raise TypeError("benchmarks is no list")
    backend = mapping(mapping(mapping(document.get("config")).get("spec")).get("backend"))
    model = backend.get("model")
    return Measured(
        points=tuple(_point(mapping(benchmark)) for benchmark in benchmarks),
        model=None if model is None else str(model),
    )


def _point(benchmark: Document) -> PointSummary:
    metrics = mapping(benchmark["metrics"])
    totals = mapping(metrics["request_totals"])
    ok = int(number(totals["successful"]))
    failed = int(maybe(totals.get("errored")) or 0)
    strategy = mapping(mapping(benchmark["config"]).get("strategy"))
    slots = maybe(strategy.get("streams"))
    inputs = _successful(metrics, "prompt_token_count").get("total_sum")
    throughput = positive(_successful(metrics, "output_tokens_per_second").get("mean"))
    return PointSummary(
        workload=WORKLOAD,
        concurrency=None if slots is None else int(slots),
        request_rate=None if slots is not None else maybe(strategy.get("rate")),
        requests=ok + failed,
        ok=ok,
        errors={"failed": failed} if failed else {},
        duration_s=number(benchmark["duration"]),
        output_tokens=int(number(_successful(metrics, "output_token_count")["total_sum"])),
        input_tokens=None if maybe(inputs) is None else int(number(inputs)),
        output_tokens_per_s=throughput,
        whole_window_output_tokens_per_s=throughput,
        per_request_tokens_per_s=_per_request(benchmark),
        requests_per_s=positive(_successful(metrics, "requests_per_second").get("mean")),
        goodput_requests_per_s=maybe(metrics.get("request_goodput")),
        ttft_s=_distribution(metrics, "time_to_first_token_ms"),
        itl_s=None,
        tpot_s=_distribution(metrics, "inter_token_latency_ms"),
        e2el_s=_distribution(metrics, "request_latency", per_ms=1e3),
        client=NO_PROOF,
    )


def _successful(metrics: Document, key: str) -> Document:
    return mapping(mapping(metrics.get(key)).get("successful"))


def _distribution(metrics: Document, key: str, per_ms: float = 1.0) -> Distribution | None:
    """``per_ms``: milliseconds in one unit of the figure."""
    found = _successful(metrics, key)
    percentiles = mapping(found.get("percentiles"))
    figures = {"p90": percentiles.get("p90"), "p99": percentiles.get("p99"), "max": found.get("max")}
    scaled = {name: _times(value, per_ms) for name, value in figures.items()}
    samples = maybe(found.get("count"))
    return spread(samples, _times(found.get("mean"), per_ms), _times(found.get("median"), per_ms), **scaled)


def _times(value: object, factor: float) -> float | None:
    found = maybe(value)
    return None if found is None else found * factor


def _per_request(benchmark: Document) -> float | None:
    """Mean over requests, where they are kept, of output tokens by latency."""
    requests = mapping(benchmark.get("requests")).get("successful")
    listed = [one for one in requests if isinstance(one, Mapping)] if isinstance(requests, list) else []
    rates = [rate for one in listed if (rate := maybe(one.get("output_tokens_per_second"))) is not None]
    return fmean(rates) if rates else None


READER = Reader(name="guidellm", tool="GuideLLM", recognises=recognises, read=read)
