"""GPUs that slowed down for heat or power while being measured."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.findings._by_candidate import marked_points, places
from shakedown.judge.view import Judged
from shakedown.judge.wording import listed

KIND = FindingKind.THERMAL_OR_POWER_LIMITED


def find(judged: Judged) -> Iterator[Finding]:
    """Points in which NVML reported throttling, of all candidates: what is to be done is the same for each."""
    throttled = dict(marked_points(judged, lambda point: point.telemetry.throttled is True))
    if not throttled:
        return
    points = [point for marked in throttled.values() for point in marked]
    clocks = [clock for point in points for clock in point.telemetry.sm_clock_mhz_min or ()]
    lowest = f", down to {min(clocks)} MHz" if clocks else ""
    under = listed([judged.label(candidate_id) for candidate_id in throttled])
    yield Finding(
        kind=KIND,
        summary=f"GPUs were throttled under {under} in {listed(places(points))}{lowest}: "
        "these figures depend on cooling and power limits.",
        evidence={
            "points": {judged.label(candidate_id): places(marked) for candidate_id, marked in throttled.items()},
            "sm_clock_mhz_min": min(clocks, default=None),
            "power_w_mean": [point.telemetry.power_w_mean for point in points],
        },
        candidates=tuple(throttled),
        advice="Raise the power limit or improve cooling, or lock the clocks, and measure all candidates again.",
    )
