"""Who wins, and where everyone else stands."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from shakedown.domain.record import CandidateRecord
from shakedown.domain.result import Comparison, StandingResult
from shakedown.domain.words import ComparisonStatus, Standing
from shakedown.judge.settings import dimension
from shakedown.stats.arms import launch_scores, point_weights
from shakedown.stats.equivalence import Experiment

_ALL_PAIRS_UP_TO = 16
"""Beyond so many candidates only pairs that differ in one dimension, or contain the winner or reference, are told."""


def objectives(experiment: Experiment, reference: str) -> dict[str, tuple[float, tuple[float, float] | None]]:
    """Ratio to the reference with its interval, for each candidate that shares a point with it."""
    if reference not in experiment.arms:
        return {}
    found: dict[str, tuple[float, tuple[float, float] | None]] = {}
    for candidate_id in experiment.arms:
        if candidate_id == reference:
            found[candidate_id] = (1.0, None)
        elif (ratio := experiment.compare(candidate_id, reference)) is not None:
            found[candidate_id] = (ratio.ratio, ratio.interval)
    return found


def choose_winner(
    experiment: Experiment, objective: Mapping[str, float], lossy: Mapping[str, Sequence[str]]
) -> str | None:
    """Give the winner's id: the fastest, or the least lossy among those not proven slower than the fastest.

    A lossy setting has to earn its place: where its gain is not proven, the fastest of the less lossy wins.
    """
    if not objective:
        return None
    fastest = max(objective, key=objective.__getitem__)
    contenders = [fastest] + [
        candidate_id
        for candidate_id in objective
        if candidate_id != fastest and _status(experiment, candidate_id, fastest) is not ComparisonStatus.WORSE
    ]
    return min(contenders, key=lambda candidate_id: (len(lossy[candidate_id]), -objective[candidate_id]))


def standing_against(experiment: Experiment, candidate_id: str, winner: str) -> StandingResult | None:
    """Place a candidate against the winner; None when they share no point."""
    if candidate_id == winner:
        return StandingResult(status=Standing.BEST, ratio=1.0, interval=None)
    ratio = experiment.compare(candidate_id, winner)
    if ratio is None:
        return None
    status = {
        ComparisonStatus.EQUIVALENT: Standing.EQUIVALENT,
        ComparisonStatus.WORSE: Standing.SLOWER,
    }.get(ratio.status, Standing.INCONCLUSIVE)
    return StandingResult(status=status, ratio=ratio.ratio, interval=ratio.interval)


def compare_all(
    experiment: Experiment, candidates: Sequence[CandidateRecord], *, winner: str | None, reference: str | None
) -> tuple[Comparison, ...]:
    """Compare the measured candidates pairwise over all workloads; the winner and the reference with everyone."""
    measured = [(record.candidate.id, record.candidate) for record in candidates]
    measured = [(key, candidate) for key, candidate in measured if key in experiment.arms]
    anchors = {winner, reference}
    found = []
    for (a, first), (b, second) in itertools.combinations(measured, 2):
        differing = dimension(first, second)
        if len(measured) > _ALL_PAIRS_UP_TO and differing is None and not anchors & {a, b}:
            continue
        # The winner stands first wherever it appears, so that its ratios read as gains.
        sides = (b, a) if b == winner else (a, b)
        comparison = compare_pair(experiment, *sides, differing)
        if comparison is not None:
            found.append(comparison)
    return tuple(found)


def launch_ratios(experiment: Experiment, candidate: str, reference: str | None) -> tuple[float, ...]:
    """The objective of each launch by itself, as a ratio to the reference's mean over the points they share."""
    if reference is None or not {candidate, reference} <= experiment.arms.keys():
        return ()
    weights = point_weights(experiment.common_points(candidate, reference), experiment.workload_weights)
    if not weights:
        return ()
    base = sum(weight * experiment.arms[reference].mean(point) for point, weight in weights.items())
    return tuple(math.exp(score - base) for score in launch_scores(experiment.arms[candidate], weights))


def compare_pair(
    experiment: Experiment, a: str, b: str, differing: str | None, workload: str | None = None
) -> Comparison | None:
    """Compare two candidates over all workloads or one; None when they share no point there."""
    ratio = experiment.compare(a, b, workload)
    if ratio is None:
        return None
    return Comparison(
        a=a,
        b=b,
        dimension=differing,
        ratio=ratio.ratio,
        interval=ratio.interval,
        status=ratio.status,
        workload=workload,
    )


def workload_bests(experiment: Experiment, winner: str, workloads: Sequence[str]) -> dict[str, str]:
    """For each workload where another candidate beats the winner, that candidate (the fastest there)."""
    found = {}
    for workload in workloads:
        ratios = {
            other: ratio.ratio
            for other in experiment.arms
            if other != winner and (ratio := experiment.compare(other, winner, workload)) is not None
        }
        if ratios:
            best = max(ratios, key=ratios.__getitem__)
            if _status(experiment, best, winner, workload) is ComparisonStatus.BETTER:
                found[workload] = best
    return found


def _status(experiment: Experiment, a: str, b: str, workload: str | None = None) -> ComparisonStatus | None:
    ratio = experiment.compare(a, b, workload)
    return ratio.status if ratio else None
