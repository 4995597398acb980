"""The load generator, not the server, shaped a result."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.findings._by_candidate import marked_points, places
from shakedown.judge.merit import counts
from shakedown.judge.view import Judged
from shakedown.judge.wording import listed

KIND = FindingKind.CLIENT_LIMITED


def find(judged: Judged) -> Iterator[Finding]:
    """Points whose send lateness, loop lag or CPU time show the client at its limit, those cut short left out."""
    for candidate_id, points in marked_points(
        judged, lambda point: bool(point.client.limited) and point.ok > 0 and counts(point)
    ):
        lags = [lag.p99 for point in points if (lag := point.client.loop_lag_s) and lag.p99 is not None]
        yield Finding(
            kind=KIND,
            summary=f"The client was the limit for {judged.label(candidate_id)} in {listed(places(points))}: "
            "the server may be faster than it looks.",
            evidence={
                "points": places(points),
                "client_cpu_s": [point.client.cpu_s for point in points],
                "loop_lag_p99_s_max": max(lags, default=None),
            },
            candidates=(candidate_id,),
            advice="Give the client its own cores or more worker processes, or lower the load, and measure again.",
        )
