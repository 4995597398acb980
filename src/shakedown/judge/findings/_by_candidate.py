"""Points of each candidate that something is true of."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shakedown.domain.metric import PointSummary
from shakedown.judge.merit import point_key
from shakedown.judge.view import Judged


def marked_points(
    judged: Judged, is_marked: Callable[[PointSummary], bool]
) -> Iterator[tuple[str, list[PointSummary]]]:
    """Candidate id and its marked points, for each candidate that has any."""
    for record in judged.evidence.candidates:
        marked = [point for point in judged.points(record.candidate.id) if is_marked(point)]
        if marked:
            yield record.candidate.id, marked


def places(points: list[PointSummary]) -> list[str]:
    """The points in words, each once, in the order they were measured."""
    return list(dict.fromkeys(str(point_key(point)) for point in points))
