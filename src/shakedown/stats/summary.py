"""From request records to a ``PointSummary``: pure, one formula for each name (docs/metrics.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from shakedown.domain.metric import ClientProof, CounterWindow, Distribution, PointSummary, Telemetry
from shakedown.domain.request import RequestRecord
from shakedown.stats.goodput import good_requests
from shakedown.stats.steady import Window, steady_window, tokens_within, whole_window
from shakedown.stats.times import counted_by_token, e2el_s, itl_gaps_ns, per_request_tokens_per_s, tpot_s, ttft_s


@dataclass(frozen=True, slots=True)
class PointFacts:
    """What a summary needs to know of a point beyond its records."""

    workload: str
    client: ClientProof
    concurrency: int | None = None
    request_rate: float | None = None
    repeat: int = 0
    slo: Mapping[str, float] = field(default_factory=dict)
    repeated_prompts: int = 0
    interrupted: bool = False
    stop_reason: str | None = None
    counters: CounterWindow = field(default_factory=CounterWindow)
    telemetry: Telemetry = field(default_factory=Telemetry)


def distribution(values: ArrayLike) -> Distribution | None:
    """Mean, percentiles (linear interpolation) and maximum; None without values. The array may be reordered."""
    array = np.asarray(values, dtype=np.float64)
    if not array.size:
        return None
    mean = float(array.mean())
    p50, p90, p99, top = np.percentile(array, (50, 90, 99, 100), overwrite_input=True)
    return Distribution(mean=mean, p50=float(p50), p90=float(p90), p99=float(p99), max=float(top), samples=array.size)


def summarize(records: Sequence[RequestRecord], facts: PointFacts) -> PointSummary:
    """Summarise one load point; failed requests are in ``errors`` and in no latency."""
    ok = [record for record in records if record.ok]
    whole = whole_window(records)
    steady = steady_window(records, facts.concurrency)
    output_tokens = sum(record.output_tokens or 0 for record in ok)
    whole_rate = _per_second(output_tokens, whole)
    steady_rate = None if steady is None else tokens_within(ok, steady) / steady.seconds
    accept_length, acceptance = _speculation(ok, facts.counters)
    inputs = [record.input_tokens for record in ok]
    return PointSummary(
        workload=facts.workload,
        concurrency=facts.concurrency,
        request_rate=facts.request_rate,
        repeat=facts.repeat,
        requests=len(records),
        ok=len(ok),
        errors=dict(sorted(Counter(record.error for record in records if record.error is not None).items())),
        duration_s=0.0 if whole is None else whole.seconds,
        window="whole" if steady_rate is None else "steady",
        output_tokens=output_tokens,
        input_tokens=None if not inputs or None in inputs else sum(count or 0 for count in inputs),
        output_tokens_per_s=whole_rate if steady_rate is None else steady_rate,
        whole_window_output_tokens_per_s=whole_rate,
        per_request_tokens_per_s=_mean(ok, per_request_tokens_per_s),
        requests_per_s=_per_second(len(ok), whole) if ok else None,
        goodput_requests_per_s=_per_second(good_requests(ok, facts.slo), whole) if facts.slo else None,
        ttft_s=_distribution(ok, ttft_s),
        itl_s=_itl(ok),
        tpot_s=_distribution(ok, tpot_s),
        e2el_s=_distribution(ok, e2el_s),
        accept_length=accept_length,
        draft_acceptance_rate=acceptance,
        token_count=_token_count(ok),
        itl_unit="token" if ok and all(counted_by_token(record) for record in ok) else "event",
        early_stops=sum(_stopped_early(record) for record in ok),
        repeated_prompts=facts.repeated_prompts,
        interrupted=facts.interrupted,
        stop_reason=facts.stop_reason,
        client=facts.client,
        counters=facts.counters,
        telemetry=facts.telemetry,
    )


def _per_second(count: float, window: Window | None) -> float | None:
    return count / window.seconds if window is not None and window.seconds > 0 and count else None


def _values(records: Sequence[RequestRecord], read: Callable[[RequestRecord], float | None]) -> list[float]:
    return [value for record in records if (value := read(record)) is not None]


def _distribution(
    records: Sequence[RequestRecord], read: Callable[[RequestRecord], float | None]
) -> Distribution | None:
    return distribution(_values(records, read))


def _mean(records: Sequence[RequestRecord], read: Callable[[RequestRecord], float | None]) -> float | None:
    values = _values(records, read)
    return float(np.mean(values)) if values else None


def _itl(records: Sequence[RequestRecord]) -> Distribution | None:
    """All gaps of all requests in one array, filled piece by piece: ten million of them are 80 MB, once."""
    sizes = [_gap_count(record) for record in records]
    gaps = np.empty(sum(sizes))
    at = 0
    for record, size in zip(records, sizes, strict=True):
        gaps[at : at + size] = itl_gaps_ns(record)
        at += size
    gaps /= 1e9
    return distribution(gaps)


def _gap_count(record: RequestRecord) -> int:
    if not record.streamed or len(record.arrivals_ns) < 2:
        return 0
    return sum(record.event_tokens[1:]) if record.event_tokens else len(record.arrivals_ns) - 1


def _token_count(records: Sequence[RequestRecord]) -> str:
    sources = {record.token_count.value for record in records}
    return sources.pop() if len(sources) == 1 else "mixed" if sources else "usage"


def _stopped_early(record: RequestRecord) -> bool:
    asked, got = record.requested_tokens, record.output_tokens
    return asked is not None and got is not None and got < asked


def _speculation(records: Sequence[RequestRecord], counters: CounterWindow) -> tuple[float | None, float | None]:
    """Accept length and draft acceptance rate: from the server's counters or gauge, else from what its answers said.

    A verification step gives its accepted drafts and one token more. Without a count of steps they are the generated
    tokens that were not drafts.
    """
    drafted, accepted, steps = counters.drafted_tokens, counters.accepted_tokens, counters.drafts
    if (drafted is not None or steps is not None) and accepted is not None:
        length = 1 + accepted / steps if steps else None
        return length, accepted / drafted if drafted else None
    if counters.accept_length is not None:
        return counters.accept_length, None
    told = [record for record in records if record.drafted_tokens and record.accepted_tokens is not None]
    if not told:
        return None, None
    drafted = sum(record.drafted_tokens or 0 for record in told)
    accepted = sum(record.accepted_tokens or 0 for record in told)
    generated = sum(record.output_tokens or 0 for record in told)
    return (generated / (generated - accepted) if generated > accepted else None), accepted / drafted
