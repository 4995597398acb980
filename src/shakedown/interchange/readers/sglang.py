"""``python -m sglang.bench_serving --output-file``: one JSON object a line, one line a run.

Keys as SGLang 0.5 writes them (``python/sglang/benchmark/serving.py``). Failed requests are not in it.
"""

from __future__ import annotations

from shakedown.domain.metric import PointSummary
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
)
from shakedown.interchange.readers.vllm import distribution


def recognises(document: Document) -> bool:
    """Whether it is one."""
    return {"backend", "output_throughput", "total_output_tokens_retokenized"} <= document.keys()


def read(document: Document) -> Measured:
    """Read one run."""
    slots = maybe(document.get("max_concurrency"))
    completed = number(document["completed"])
    server = mapping(document.get("server_info"))
    version = server.get("version")
    model = server.get("served_model_name") or server.get("model_path")
    point = PointSummary(
        workload=WORKLOAD,
        concurrency=None if slots is None else int(slots),
        request_rate=None if slots is not None else maybe(document.get("request_rate")),
        requests=int(completed),
        ok=int(completed),
        duration_s=number(document["duration"]),
        output_tokens=int(number(document["total_output_tokens"])),
        input_tokens=int(number(document["total_input_tokens"])),
        output_tokens_per_s=positive(document["output_throughput"]),
        whole_window_output_tokens_per_s=positive(document["output_throughput"]),
        per_request_tokens_per_s=None,
        requests_per_s=positive(document.get("request_throughput")),
        ttft_s=distribution(document, "ttft", completed),
        itl_s=distribution(document, "itl", completed),
        tpot_s=distribution(document, "tpot", completed),
        e2el_s=distribution(document, "e2e_latency", completed),
        accept_length=positive(document.get("accept_length")),
        client=NO_PROOF,
    )
    return Measured(
        points=(point,),
        label=str(document.get("tag") or ""),
        model=None if model is None else str(model),
        engine="sglang" if server else None,
        effective={} if version is None else {"engine_version": str(version)},
    )


READER = Reader(name="sglang", tool="SGLang bench_serving", recognises=recognises, read=read)
