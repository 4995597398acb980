"""Throughput against latency: what a single winner cannot say."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from shakedown.domain.metric import PointSummary
from shakedown.domain.result import ParetoPoint
from shakedown.judge.merit import counts, point_key
from shakedown.judge.view import Judged
from shakedown.stats.arms import PointKey


def pareto_set(judged: Judged) -> tuple[ParetoPoint, ...]:
    """Give what no other qualified candidate beats in both, workload by workload, from low latency to high."""
    found: list[ParetoPoint] = []
    for workload in judged.evidence.workloads:
        points = [
            point
            for candidate_id in judged.experiment.arms
            for point in _levels(judged, candidate_id)
            if point.workload == workload.name
        ]
        # From low latency on, whatever has more throughput than all before it is not dominated.
        points.sort(key=lambda point: (point.e2el_p50_s, -point.output_tokens_per_s))
        most = 0.0
        for point in points:
            if point.output_tokens_per_s > most:
                most = point.output_tokens_per_s
                found.append(point)
    return tuple(found)


def _levels(judged: Judged, candidate_id: str) -> Iterator[ParetoPoint]:
    levels: dict[PointKey, list[PointSummary]] = {}
    for point in judged.points(candidate_id):
        if counts(point) and point.output_tokens_per_s and point.e2el_s is not None:
            levels.setdefault(point_key(point), []).append(point)
    for key, points in levels.items():
        yield ParetoPoint(
            workload=key.workload,
            candidate=candidate_id,
            concurrency=key.concurrency,
            request_rate=key.request_rate,
            output_tokens_per_s=statistics.geometric_mean([point.output_tokens_per_s or 0.0 for point in points]),
            e2el_p50_s=statistics.geometric_mean([point.e2el_s.p50 for point in points if point.e2el_s]),
        )
