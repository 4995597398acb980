"""The proof that the client was not the limit: its lateness, its lag, its CPU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shakedown.domain.metric import ClientProof
from shakedown.domain.request import RequestRecord
from shakedown.stats.summary import distribution
from shakedown.stats.times import ttft_s

CPU_LIMIT = 0.9
"""A worker busier than this has no room left for a burst."""
DELAY_FLOOR_S = 0.01
"""Delays below this are scheduling noise of any machine that also runs a server."""
DELAY_SHARE = 0.05
"""A delay may be this share of the median TTFT before it is said to shape the result."""


def client_proof(
    records: Sequence[RequestRecord],
    *,
    cpu_s: Sequence[float],
    wall_s: Sequence[float],
    loop_lag_ns: Sequence[int],
    starved: bool,
) -> ClientProof:
    """Sum up how the client did.

    Args:
        records: the requests; send lateness is theirs.
        cpu_s: CPU time of each worker over the window.
        wall_s: wall time of each worker's window.
        loop_lag_ns: by how much short timers fired late, all workers together.
        starved: a worker ran out of prompts while slots were free.
    """
    sent = [record for record in records if record.sent_ns]
    lateness = distribution([(record.sent_ns - record.scheduled_ns) / 1e9 for record in sent])
    lag = distribution(np.asarray(loop_lag_ns, dtype=np.float64) / 1e9)
    first_tokens = [value for record in records if record.ok and (value := ttft_s(record)) is not None]
    allowed = max(DELAY_FLOOR_S, DELAY_SHARE * float(np.median(first_tokens)) if first_tokens else 0.0)
    busy = any(cpu > CPU_LIMIT * wall for cpu, wall in zip(cpu_s, wall_s, strict=True) if wall > 0.5)
    late = any(delay is not None and delay.p99 is not None and delay.p99 > allowed for delay in (lateness, lag))
    return ClientProof(
        cpu_s=sum(cpu_s),
        send_lateness_s=lateness,
        loop_lag_s=lag,
        limited=busy or late or starved,
        workers=max(1, len(cpu_s)),
    )
