"""Faster than the machine can be: something is wrong with the measurement, or with the model's description."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.metric import PointSummary
from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.evidence import Ceiling
from shakedown.judge.merit import point_key
from shakedown.judge.view import Judged

KIND = FindingKind.BEYOND_CEILING


def find(judged: Judged) -> Iterator[Finding]:
    """The point furthest beyond its ceiling, for each candidate that has one."""
    for record in judged.evidence.candidates:
        planned = judged.planned_as(record.candidate.id)
        beyond = [
            (point.output_tokens_per_s / ceiling.output_tokens_per_s, point, ceiling)
            for point in judged.points(record.candidate.id)
            for ceiling in judged.evidence.ceilings
            if point.output_tokens_per_s is not None and _applies(ceiling, planned, point)
        ]
        times, point, ceiling = max(beyond, key=lambda item: item[0], default=(0.0, None, None))
        if times <= 1 or point is None or ceiling is None:
            continue
        yield Finding(
            kind=KIND,
            summary=(
                f"{judged.label(record.candidate.id)} measured {point.output_tokens_per_s:.1f} output tokens/s at "
                f"{point_key(point)}, {times:.2f} times the ceiling of {ceiling.output_tokens_per_s:.1f}."
            ),
            evidence={
                "output_tokens_per_s": point.output_tokens_per_s,
                "ceiling_tokens_per_s": ceiling.output_tokens_per_s,
                "ceiling_from": ceiling.explanation,
                "token_count": point.token_count,
            },
            candidates=(record.candidate.id,),
            advice="Check how tokens were counted, whether a cache or an echo answered, and the machine's description.",
        )


def _applies(ceiling: Ceiling, candidate_id: str, point: PointSummary) -> bool:
    return (
        ceiling.candidate_id in (None, candidate_id)
        and ceiling.workload in (None, point.workload)
        and ceiling.concurrency in (None, point.concurrency)
    )
