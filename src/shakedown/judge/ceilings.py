"""From the plan's bounds to those that a measured point may be held against."""

from __future__ import annotations

from collections.abc import Sequence

from shakedown.domain.workload import Workload
from shakedown.judge.evidence import Ceiling
from shakedown.plan.ceiling import Ceiling as PlannedCeiling
from shakedown.plan.ceiling import CeilingPoint


def planned_ceilings(planned: Sequence[PlannedCeiling], workloads: Sequence[Workload]) -> tuple[Ceiling, ...]:
    """Give each candidate its bound at each concurrency, for the workloads that the bound was computed for.

    The plan takes the longest context of all workloads. A bound at that context holds for workloads of that context
    only: shorter ones read less cache in a step and may go beyond it.
    """
    contexts = {workload.name: workload.input_tokens + workload.output_tokens // 2 for workload in workloads}
    longest = [name for name, context in contexts.items() if context == max(contexts.values())]
    return tuple(
        Ceiling(
            output_tokens_per_s=_bound(point),
            candidate_id=candidate_id,
            workload=name,
            concurrency=point.concurrency,
            explanation="; ".join(ceiling.assumptions) or "the plan's roofline",
            step_s=point.step_s,
            reading_s=point.reading_s,
            all_reduce_s=point.all_reduce_s,
            all_reduces=ceiling.all_reduces.count if ceiling.all_reduces else 0,
            all_reduce_ways=ceiling.all_reduces.costs if ceiling.all_reduces else (),
        )
        for ceiling in planned
        for candidate_id in ceiling.candidates
        for point in ceiling.points
        for name in longest
    )


def _bound(point: CeilingPoint) -> float:
    """A speculating candidate's bound is that with every draft accepted, or the plain one where that is higher."""
    accepted = point.speculation.output_tokens_per_s if point.speculation else 0.0
    return max(point.output_tokens_per_s, accepted)
