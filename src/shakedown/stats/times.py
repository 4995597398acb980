"""Times of one request, by the formulas of docs/metrics.md. None where the request does not have the metric."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shakedown.domain.request import RequestRecord


def ttft_s(record: RequestRecord) -> float | None:
    """Time to first token, seconds."""
    if not record.streamed or not record.arrivals_ns:
        return None
    return (record.arrivals_ns[0] - record.sent_ns) / 1e9


def e2el_s(record: RequestRecord) -> float | None:
    """End-to-end latency, seconds."""
    if not record.arrivals_ns:
        return None
    return (record.arrivals_ns[-1] - record.sent_ns) / 1e9


def tpot_s(record: RequestRecord) -> float | None:
    """Time per output token after the first, seconds; needs two tokens that came apart from each other."""
    if not record.streamed or len(record.arrivals_ns) < 2 or (record.output_tokens or 0) < 2:
        return None
    assert record.output_tokens is not None
    return (record.arrivals_ns[-1] - record.arrivals_ns[0]) / 1e9 / (record.output_tokens - 1)


def itl_gaps_ns(record: RequestRecord) -> NDArray[np.float64]:
    """Gaps between arrivals, nanoseconds; a gap that brought m tokens is m gaps of 1/m where m is known."""
    if not record.streamed or len(record.arrivals_ns) < 2:
        return np.empty(0)
    gaps = np.diff(np.frombuffer(record.arrivals_ns, dtype=np.int64)).astype(np.float64)
    if not record.event_tokens:
        return gaps
    brought = np.frombuffer(record.event_tokens, dtype=np.int32)[1:]
    return np.repeat(gaps / brought, brought)


def counted_by_token(record: RequestRecord) -> bool:
    """Whether it is known how many tokens each event brought."""
    return bool(record.event_tokens) or len(record.arrivals_ns) == record.output_tokens


def per_request_tokens_per_s(record: RequestRecord) -> float | None:
    """Output tokens by end-to-end latency, tokens per second."""
    latency = e2el_s(record)
    if not latency or not record.output_tokens:
        return None
    return record.output_tokens / latency
