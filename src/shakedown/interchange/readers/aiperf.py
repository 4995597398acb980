"""``profile_export_aiperf.json`` of AIPerf (schema 1.x).

What AIPerf calls inter-token latency, (E2EL - TTFT) / (n - 1) of each request, is TPOT here; its inter-chunk latency is
ITL; its end-to-end output token throughput is per-request throughput.
"""

from __future__ import annotations

from collections.abc import Mapping

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
    return "aiperf_version" in document and "request_latency" in document


def read(document: Document) -> Measured:
    """Read one profile."""
    config = mapping(document.get("input_config"))
    phase = _profiling(config)
    ok = int(number(_average(document, "request_count")))
    failed = int(_average(document, "error_request_count") or 0)
    slots = maybe(phase.get("concurrency"))
    inputs = _average(document, "total_isl")
    point = PointSummary(
        workload=WORKLOAD,
        concurrency=None if slots is None else int(slots),
        request_rate=None if slots is not None else maybe(phase.get("rate", phase.get("request_rate"))),
        requests=ok + failed,
        ok=ok,
        errors={"failed": failed} if failed else {},
        duration_s=number(_average(document, "benchmark_duration")),
        output_tokens=int(number(_average(document, "total_osl"))),
        input_tokens=None if inputs is None else int(inputs),
        output_tokens_per_s=positive(_average(document, "output_token_throughput")),
        whole_window_output_tokens_per_s=positive(_average(document, "output_token_throughput")),
        per_request_tokens_per_s=positive(_average(document, "e2e_output_token_throughput")),
        requests_per_s=positive(_average(document, "request_throughput")),
        goodput_requests_per_s=_average(document, "goodput"),
        ttft_s=_distribution(document, "time_to_first_token"),
        itl_s=_distribution(document, "inter_chunk_latency"),
        tpot_s=_distribution(document, "inter_token_latency"),
        e2el_s=_distribution(document, "request_latency"),
        client=NO_PROOF,
    )
    return Measured(points=(point,), model=_model(config))


def _average(document: Document, key: str) -> float | None:
    return maybe(mapping(document.get(key)).get("avg"))


def _distribution(document: Document, key: str) -> Distribution | None:
    found = mapping(document.get(key))
    return spread(
        maybe(found.get("count")),
        found.get("avg"),
        found.get("p50"),
        p90=found.get("p90"),
        p99=found.get("p99"),
        max=found.get("max"),
    )


def _profiling(config: Document) -> Document:
    phases = config.get("phases")
    listed = [phase for phase in phases if isinstance(phase, Mapping)] if isinstance(phases, list) else []
    return next((phase for phase in listed if phase.get("kind") == "profiling"), {})


def _model(config: Document) -> str | None:
    items = mapping(config.get("models")).get("items")
    first = items[0] if isinstance(items, list) and items else {}
    name = mapping(first).get("name")
    return None if name is None else str(name)


READER = Reader(name="aiperf", tool="AIPerf", recognises=recognises, read=read)
