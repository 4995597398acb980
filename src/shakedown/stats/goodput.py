"""Service level objectives: which requests meet them, and whether a point does."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from shakedown.domain.metric import Distribution, PointSummary
from shakedown.domain.request import RequestRecord
from shakedown.stats.times import e2el_s, itl_gaps_ns, tpot_s, ttft_s

_KEY = re.compile(r"(ttft|itl|tpot|e2el)_(mean|max|p\d{1,2}(?:\.\d+)?)")


def slo_parts(key: str) -> tuple[str, str]:
    """Split ``ttft_p99`` into metric and statistic.

    Raises:
        ValueError: if the key is no metric_statistic.
    """
    match = _KEY.fullmatch(key)
    if match is None:
        raise ValueError(f"{key!r}: expected ttft, itl, tpot or e2el, then _mean, _max or _p and a percentile")
    return match[1], match[2]


def request_meets(record: RequestRecord, slo: Mapping[str, float]) -> bool:
    """Whether one request keeps every limit, seconds.

    A request has one TTFT, TPOT and E2EL, so a percentile means that one value; its inter-token latencies are many,
    and there the statistic is taken over the request's own. A metric that the request does not have (TPOT of one
    token) cannot break its limit.
    """
    if not record.ok:
        return False
    for key, limit in slo.items():
        metric, statistic = slo_parts(key)
        if metric == "itl":
            gaps = itl_gaps_ns(record)
            value = None if not len(gaps) else _statistic(gaps / 1e9, statistic)
        else:
            value = {"ttft": ttft_s, "tpot": tpot_s, "e2el": e2el_s}[metric](record)
        if value is not None and value > limit:
            return False
    return True


def _statistic(values: np.ndarray[tuple[int], np.dtype[np.float64]], statistic: str) -> float:
    if statistic == "mean":
        return float(values.mean())
    return float(np.percentile(values, 100.0 if statistic == "max" else float(statistic[1:])))


def good_requests(records: Sequence[RequestRecord], slo: Mapping[str, float]) -> int:
    """How many requests are ok and keep every limit."""
    return sum(request_meets(record, slo) for record in records)


def point_meets(point: PointSummary, slo: Mapping[str, float], records: Sequence[RequestRecord]) -> bool:
    """Whether a load point keeps every limit: nothing failed, and each statistic over all its requests is within.

    A statistic that the point lacks (no streaming, so no TTFT) counts as not kept: it was not shown to hold.
    """
    if point.ok == 0 or point.errors:
        return False
    for key, limit in slo.items():
        metric, statistic = slo_parts(key)
        known: Distribution | None = getattr(point, f"{metric}_s")
        if known is None:
            return False
        value = getattr(known, statistic, None)
        if value is None:
            value = percentile_of(records, metric, statistic)
        if value > limit:
            return False
    return True


def percentile_of(records: Sequence[RequestRecord], metric: str, statistic: str) -> float:
    """A percentile that the summary does not hold, such as p95, from the records."""
    ok = [record for record in records if record.ok]
    if metric == "itl":
        values = np.concatenate([itl_gaps_ns(record) for record in ok]) / 1e9
    else:
        read = {"ttft": ttft_s, "tpot": tpot_s, "e2el": e2el_s}[metric]
        values = np.array([value for record in ok if (value := read(record)) is not None])
    return _statistic(values, statistic)
