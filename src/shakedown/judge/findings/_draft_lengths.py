"""Which draft length pays at which concurrency, and where speculation stops paying."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from shakedown.domain.metric import PointSummary
from shakedown.domain.workload import Workload
from shakedown.judge.step_cost import ForcedRun, Prediction, predict
from shakedown.judge.view import Judged

_LIKE = 2.0
"""A step's time depends on the context: workloads whose lengths differ by more than this factor are not predicted."""
_LENGTHS = tuple(range(1, 17))


def predictions(
    judged: Judged, candidates: Sequence[str], workload: Workload, points: Sequence[PointSummary]
) -> list[Prediction]:
    """Predict every draft length between those that were forced, for a workload like the one they were forced on."""
    runs = [run for run in judged.evidence.forced_runs if run.candidate_id in candidates]
    if not runs or not _alike(judged, runs, workload):
        return []
    low, high = (bound(run.draft_tokens for run in runs) for bound in (min, max))
    lengths = [length for length in _LENGTHS if low <= length <= high]
    return predict(runs, points, lengths, workload.output_tokens)


def best_lengths(
    predicted: Sequence[Prediction], plain_tokens_per_s: Mapping[int, float]
) -> dict[int, tuple[int, float]]:
    """For each concurrency the best draft length and its predicted gain as a ratio; length 0 where none pays."""
    found = {}
    for concurrency, plain in plain_tokens_per_s.items():
        here = [one for one in predicted if one.concurrency == concurrency]
        if here:
            best = max(here, key=lambda one: one.output_tokens_per_s)
            ratio = best.output_tokens_per_s / plain
            found[concurrency] = (best.draft_tokens if ratio > 1 else 0, ratio)
    return found


def crossover(gains: Mapping[int, float]) -> float | None:
    """Concurrency at which the gain (a ratio) falls to 1, between two that were measured; None where it does not."""
    ordered = sorted(gains.items())
    for (low, above), (high, below) in itertools.pairwise(ordered):
        if above > 1 >= below:
            share = math.log(above) / (math.log(above) - math.log(below))
            return math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
    return None


def _alike(judged: Judged, runs: Sequence[ForcedRun], workload: Workload) -> bool:
    forced = {point.workload for run in runs for point in run.points}
    others = [other for other in judged.evidence.workloads if other.name in forced]
    return any(
        1 / _LIKE <= ours / theirs <= _LIKE
        for other in others
        for ours, theirs in [(workload.input_tokens + workload.output_tokens, other.input_tokens + other.output_tokens)]
    )
