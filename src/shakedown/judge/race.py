"""Racing within a launch: once a candidate cannot be the best any more, its remaining load points are not measured.

Looked at between two rounds of repeats, when every load point has been measured equally often: a point that was not
measured might be the one at which the candidate is good.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from shakedown.domain.metric import PointSummary
from shakedown.domain.trial import Race, RaceBar
from shakedown.domain.words import Objective
from shakedown.judge.merit import counts, merit, point_key
from shakedown.stats.arms import PointKey, point_weights

_ONE_SIDED_95 = 1.645


def race_against(
    label: str,
    points: Sequence[PointSummary],
    *,
    launches: int,
    launch_spread: float,
    objective: Objective,
    workload_weights: Mapping[str, float],
) -> Race | None:
    """Set up the race against the best so far; None where nothing of it was measured.

    Args:
        label: the incumbent's.
        points: its load points, of all its launches.
        launches: how many these were.
        launch_spread: standard deviation of the log objective from launch to launch.
        objective: what is raced in.
        workload_weights: workload name to weight.
    """
    merits = _merits(points, objective)
    if not merits:
        return None
    weights = point_weights(merits, workload_weights)
    # One round is all that is known of the challenger, so its launch and its repeats both may mislead.
    scatter = math.hypot(*(weights[key] * _repeat_spread(merits[key]) for key in merits))
    allowance = _ONE_SIDED_95 * (math.hypot(launch_spread, scatter) + launch_spread / math.sqrt(launches))
    bars = tuple(
        RaceBar(
            workload=key.workload,
            concurrency=key.concurrency,
            request_rate=key.request_rate,
            merit=statistics.fmean(merits[key]),
            weight=weights[key],
        )
        for key in merits
    )
    return Race(incumbent=label, objective=objective, bars=bars, allowance=allowance)


def lost(race: Race, points: Sequence[PointSummary]) -> str | None:
    """Say why a launch cannot be the best any more, from the points measured so far; None while it can."""
    merits = _merits(points, race.objective)
    distance = 0.0
    for bar in race.bars:
        own = merits.get(PointKey(bar.workload, bar.concurrency, bar.request_rate))
        if own is None:
            return None
        distance += bar.weight * (statistics.fmean(own) - bar.merit)
    if distance + race.allowance >= 0:
        return None
    ratio, upper = math.exp(distance), math.exp(distance + race.allowance)
    return f"it does {100 * ratio:.0f} % of {race.incumbent}, at most {100 * upper:.0f} %"


def _merits(points: Sequence[PointSummary], objective: Objective) -> dict[PointKey, list[float]]:
    found: dict[PointKey, list[float]] = {}
    for point in points:
        value = merit(point, objective)
        if value is not None and counts(point):
            found.setdefault(point_key(point), []).append(math.log(value))
    return found


def _repeat_spread(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0
