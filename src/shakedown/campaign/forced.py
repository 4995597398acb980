"""Two launches with acceptance made up, at the end of a campaign: what a step costs, whatever drafts are worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from shakedown.campaign.places.base import Place, RunningTrial
from shakedown.campaign.requests import point_plans
from shakedown.client.clock import now_ns
from shakedown.domain.candidate import Candidate
from shakedown.domain.events import PointFinished
from shakedown.domain.metric import PointSummary
from shakedown.domain.result import CampaignResult
from shakedown.domain.spec import CampaignSpec
from shakedown.domain.trial import Limits, TrialRequest
from shakedown.domain.words import Verdict
from shakedown.domain.workload import PointPlan
from shakedown.engines.base import Engine
from shakedown.judge.step_cost import ForcedRun, accept_length_at


@dataclass(frozen=True, slots=True)
class ForcedLaunch:
    """One launch to make: the candidate whose step it measures, and the launch itself."""

    candidate_id: str
    label: str
    draft_tokens: int
    accept_length: float
    launch: Candidate


FORCED = "forced-acceptance"
"""Key of the fact that holds the runs, and name of their folder."""
WARM_PASSES = 1
"""Passes over the load points before those that count."""


def forced_launches(
    spec: CampaignSpec, engine: Engine, candidates: dict[str, Candidate], result: CampaignResult
) -> list[ForcedLaunch]:
    """What to launch: of the best candidate that speculates, the shortest and the longest draft."""
    if not spec.speculation.forced_acceptance:
        return []
    able = [c for c in result.candidates if c.verdict is Verdict.QUALIFIED and c.points]
    lengths = sorted({min(spec.speculation.draft_tokens), max(spec.speculation.draft_tokens)})
    for best in sorted(able, key=lambda candidate: -(candidate.objective or 0.0)):
        launches = []
        for drafted in lengths:
            accept_length = _as_seen(best.points, drafted)
            forced = engine.forced_acceptance(candidates[best.id], draft_tokens=drafted, accept_length=accept_length)
            if forced is not None:
                launches.append(ForcedLaunch(best.id, best.label, drafted, accept_length, forced))
        if launches:
            return launches
    return []


def _as_seen(points: Sequence[PointSummary], drafted: int) -> float:
    """The accept length to make up: the one that the real counters promise at this draft length.

    A drafter's own step costs a little more the more of its tokens were accepted, so the made-up length must be about
    the real one. Without counters half of the drafts are accepted.
    """
    seen = accept_length_at(points, drafted)
    return round(min(max(seen if seen is not None else 1 + drafted / 2, 1.05), 1.0 + drafted), 2)


def forced_points(spec: CampaignSpec) -> tuple[PointPlan, ...]:
    """The first workload of a closed loop, as often as for a candidate and once before, which is not counted.

    A candidate's server has answered its gates before it is measured; these launches run none, and a server's first
    answers can take twice as long (kernels compiled at first use, pages of the weights touched for the first time).
    """
    for workload in spec.workloads():
        if workload.concurrency:
            repeats = WARM_PASSES + (workload.repeats or 1)
            return point_plans((workload.model_copy(update={"repeats": repeats}),))
    return ()


def run_forced(
    place: Place,
    launch: ForcedLaunch,
    *,
    host: str,
    folder: Path,
    points: tuple[PointPlan, ...],
    limits: Limits,
    follow: Callable[[RunningTrial], None],
) -> ForcedRun | None:
    """Run one of them; None where it did not come to measured points.

    Args:
        place: where it runs.
        launch: of ``forced_launches``.
        host: one of the place's hosts.
        folder: for its log and records.
        points: load points.
        limits: of supervision.
        follow: told of the running trial, so that a stop can reach it.
    """
    request = TrialRequest(
        candidate=launch.launch, folder=str(folder.resolve()), points=points, limits=limits, measure_only=True
    )
    begun_ns = now_ns()
    running = place.start(request, host=host)
    follow(running)
    points_seen = [event.point for event in running.events() if isinstance(event, PointFinished)]
    measured = tuple(point for point in points_seen if point.repeat >= WARM_PASSES)
    if running.ending() is not None or not measured:
        return None
    return ForcedRun(
        candidate_id=launch.candidate_id,
        draft_tokens=launch.draft_tokens,
        accept_length=launch.accept_length,
        points=measured,
        seconds=(now_ns() - begun_ns) / 1e9,
    )
