"""What one launch of a candidate is asked to do: its gates and load points."""

from __future__ import annotations

from pathlib import Path

from shakedown.domain.record import CandidateRecord
from shakedown.domain.spec import CampaignSpec, load_levels
from shakedown.domain.trial import Gates, Limits, Race, TrialRequest
from shakedown.domain.workload import LoadLevel, PointPlan, Workload

REFERENCE_FILE = Path("reference") / "reference.json"
"""Frozen token ids and log-probabilities of the reference candidate, relative to the results folder."""

REQUESTS_PER_SLOT = 4
"""Enough for a steady state between ramp-up and drain."""
MIN_REQUESTS = 8
OPEN_LOOP_S = 30.0
"""Length of an open-loop point for which no request count was given."""


def trial_request(
    spec: CampaignSpec,
    record: CandidateRecord,
    *,
    folder: Path,
    trial_folder: Path,
    race: Race | None = None,
    time_left_s: float | None = None,
) -> TrialRequest:
    """Build the request of one launch.

    The first candidate without lossy settings writes the reference's log-probabilities; all others compare with them.

    Args:
        spec: the campaign.
        record: what to launch.
        folder: the results folder.
        trial_folder: where this launch keeps its log and records.
        race: what ends its load early; None: nothing.
        time_left_s: what the budget leaves to it; None: no limit.
    """
    reference = (folder / REFERENCE_FILE).resolve()
    writes = not reference.exists() and not record.lossy
    workloads = spec.workloads()
    return TrialRequest(
        candidate=record.candidate,
        folder=str(trial_folder.resolve()),
        gates=Gates(
            level=spec.gates.level,
            max_kl=spec.gates.accuracy.max_kl,
            write_reference=writes,
            reference_file=str(reference) if writes or reference.exists() else None,
            context_tokens=max(workload.input_tokens for workload in workloads),
            skip=spec.gates.skip,
        ),
        points=point_plans(workloads),
        limits=limits_of(spec),
        race=race,
        time_left_s=time_left_s,
    )


def limits_of(spec: CampaignSpec) -> Limits:
    """The campaign's limits of supervision."""
    return Limits(**spec.limits.model_dump(by_alias=False))


def point_plans(workloads: tuple[Workload, ...]) -> tuple[PointPlan, ...]:
    """All load points of one launch; repeats go round all points, so that a drift meets every point alike."""
    rounds = max(workload.repeats or 1 for workload in workloads)
    return tuple(
        _plan(workload, level, repeat)
        for repeat in range(rounds)
        for workload in workloads
        for level in load_levels(workload)
        if repeat < (workload.repeats or 1)
    )


def _plan(workload: Workload, level: LoadLevel, repeat: int) -> PointPlan:
    slots = level.concurrency or 1
    if workload.requests is not None:
        requests = max(workload.requests, slots)
    elif level.request_rate is not None and level.request_rate != float("inf"):
        requests = max(MIN_REQUESTS, round(level.request_rate * (workload.duration_s or OPEN_LOOP_S)))
    else:
        requests = max(MIN_REQUESTS, REQUESTS_PER_SLOT * slots)
    warmup = workload.warmup_requests if workload.warmup_requests is not None else slots
    return PointPlan(workload=workload, level=level, repeat=repeat, requests=requests, warmup_requests=warmup)
