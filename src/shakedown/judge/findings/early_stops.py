"""Requests that brought fewer tokens than asked for."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.findings._by_candidate import marked_points, places
from shakedown.judge.view import Judged
from shakedown.judge.wording import counted, listed, percent

KIND = FindingKind.EARLY_STOPS


def find(judged: Judged) -> Iterator[Finding]:
    """Points with early stops in workloads that ask the server to ignore the end-of-text token."""
    told_to_go_on = {workload.name for workload in judged.evidence.workloads if workload.ignore_eos}
    marked = marked_points(judged, lambda point: point.early_stops > 0 and point.workload in told_to_go_on)
    for candidate_id, points in marked:
        stops, ok = sum(point.early_stops for point in points), sum(point.ok for point in points)
        yield Finding(
            kind=KIND,
            summary=(
                f"{judged.label(candidate_id)} stopped early in {counted(stops, 'request')} of {ok} "
                f"({percent(stops / max(ok, 1))}) in {listed(places(points))}: it did less work than was asked for."
            ),
            evidence={"early_stops": stops, "ok": ok, "points": places(points)},
            candidates=(candidate_id,),
            advice="Check that the engine honours ignore_eos and that prompt and answer fit into its context length.",
        )
