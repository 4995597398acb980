"""From load points to figures of merit, logarithms of which more is better."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shakedown.domain.metric import PointSummary
from shakedown.domain.record import TrialRecord
from shakedown.domain.words import Objective
from shakedown.stats.arms import Arm, PointKey

_CUT_SHORT = frozenset({"server_died", "interrupted"})


def point_key(point: PointSummary) -> PointKey:
    """The point's place in the campaign, repeats together."""
    return PointKey(point.workload, point.concurrency, point.request_rate)


def counts(point: PointSummary) -> bool:
    """Whether the point was measured to its end."""
    return not point.interrupted and point.stop_reason not in _CUT_SHORT


def merit(point: PointSummary, objective: Objective) -> float | None:
    """Figure of merit of one point, more is better; None where it was not measured.

    ``ttft`` is the median time to first token, inverted. A point whose goodput is zero counts as half a request over
    its duration, the figure that cannot be told from zero, so that a ratio exists.
    """
    match objective:
        case Objective.OUTPUT_TOKENS_PER_S:
            value = point.output_tokens_per_s
        case Objective.PER_REQUEST_TOKENS_PER_S:
            value = point.per_request_tokens_per_s
        case Objective.TTFT:
            value = 1 / point.ttft_s.p50 if point.ttft_s and point.ttft_s.p50 > 0 else None
        case Objective.GOODPUT:
            value = point.goodput_requests_per_s
            if value == 0 and point.duration_s > 0:
                value = 0.5 / point.duration_s
    return value if value is not None and value > 0 and math.isfinite(value) else None


def arm_of(trials: Sequence[TrialRecord], objective: Objective) -> Arm:
    """Gather the measured points of a candidate's launches; a launch without any is left out."""
    launches = []
    for trial in trials:
        launch: dict[PointKey, list[float]] = {}
        for point in sorted(trial.points, key=lambda point: point.repeat):
            value = merit(point, objective)
            if value is not None and counts(point):
                launch.setdefault(point_key(point), []).append(math.log(value))
        if launch:
            launches.append(launch)
    return Arm(tuple(launches))
