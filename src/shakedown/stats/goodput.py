"""Service level objectives: which requests meet them, and how many values keep each limit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from shakedown.domain.request import RequestRecord
from shakedown.stats.times import e2el_s, itl_gaps_ns, tpot_s, ttft_s

_READ = {"ttft": ttft_s, "tpot": tpot_s, "e2el": e2el_s}
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
            value = _READ[metric](record)
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


def needed_share(statistic: str) -> float:
    """The share of requests that must be within a limit for the statistic to be: 0.99 for ``p99``, 1 for ``max``.

    Raises:
        ValueError: for a mean, which no share decides.
    """
    if statistic == "mean":
        raise ValueError("a mean is no share of requests; give a percentile such as p50")
    return 1.0 if statistic == "max" else float(statistic[1:]) / 100


def within_limit(records: Sequence[RequestRecord], key: str, limit: float) -> tuple[int, int]:
    """How many values of one metric are within a limit, and of how many.

    Values are requests, or for ``itl`` the gaps between tokens. A failed request is one value out of the limit.
    """
    metric, _ = slo_parts(key)
    failed = sum(not record.ok for record in records)
    ok = [record for record in records if record.ok]
    if metric == "itl":
        within = sum(int((itl_gaps_ns(record) <= limit * 1e9).sum()) for record in ok)
        return within, failed + sum(len(itl_gaps_ns(record)) for record in ok)
    values = [_READ[metric](record) for record in ok]
    known = [value for value in values if value is not None]
    return sum(value <= limit for value in known), failed + len(known)
