"""Requests that failed while a candidate was under load."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.findings._by_candidate import marked_points, places
from shakedown.judge.view import Judged
from shakedown.judge.wording import listed, percent

KIND = FindingKind.ERRORS_UNDER_LOAD


def find(judged: Judged) -> Iterator[Finding]:
    """Points with failed requests, by kind of error."""
    for candidate_id, points in marked_points(judged, lambda point: bool(point.errors)):
        errors = sum((Counter(point.errors) for point in points), Counter[str]())
        failed, requests = errors.total(), sum(point.requests for point in points)
        share = percent(failed / max(requests, 1))
        kinds = listed([f"{number} {kind}" for kind, number in errors.most_common()])
        yield Finding(
            kind=KIND,
            summary=(
                f"{judged.label(candidate_id)} failed {failed} of {requests} requests ({share}) "
                f"in {listed(places(points))}: {kinds}."
            ),
            evidence={"errors": dict(errors), "requests": requests, "points": places(points)},
            candidates=(candidate_id,),
            advice="Read the server's log at that time; its throughput there counts only the requests that succeeded.",
        )
