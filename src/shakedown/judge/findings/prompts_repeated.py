"""Prompts that were sent twice, so that a prefix cache may have answered."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.findings._by_candidate import marked_points, places
from shakedown.judge.view import Judged
from shakedown.judge.wording import listed

KIND = FindingKind.PROMPTS_REPEATED


def find(judged: Judged) -> Iterator[Finding]:
    """Points in which a prompt was repeated; one finding for all candidates, as they get the same prompts."""
    marked = list(marked_points(judged, lambda point: point.repeated_prompts > 0))
    if not marked:
        return
    points = [point for _, found in marked for point in found]
    worst = max(points, key=lambda point: point.repeated_prompts / max(point.requests, 1))
    yield Finding(
        kind=KIND,
        summary=(
            f"Prompts were repeated in {listed(places(points))} (up to {worst.repeated_prompts} of {worst.requests} "
            "requests): a prefix cache makes them faster than fresh ones."
        ),
        evidence={"points": places(points), "most_repeated": worst.repeated_prompts, "requests": worst.requests},
        candidates=tuple(candidate_id for candidate_id, _ in marked),
        advice="Give the workload at least as many different prompts as requests, or switch the prefix cache off.",
    )
