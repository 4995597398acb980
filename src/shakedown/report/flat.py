"""The result as one flat table: a row for each load point and repeat, for CSV and Parquet.

A candidate that was never loaded has one row without figures. What was not measured is None.
"""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.metric import Distribution, PointSummary
from shakedown.domain.result import CampaignResult, CandidateResult

CANDIDATE_COLUMNS = (
    "id",
    "label",
    "verdict",
    "reason",
    "standing",
    "objective",
    "objective_low",
    "objective_high",
    "boot_s",
)
POINT_COLUMNS = (
    "workload",
    "concurrency",
    "request_rate",
    "repeat",
    "requests",
    "ok",
    "duration_s",
    "output_tokens",
    "output_tokens_per_s",
    "per_request_tokens_per_s",
    "requests_per_s",
    "goodput_requests_per_s",
    "accept_length",
    "draft_acceptance_rate",
)
DISTRIBUTIONS = ("ttft_s", "itl_s", "tpot_s", "e2el_s")
STATISTICS = ("mean", "p50", "p90", "p99", "max")
COLUMNS = (
    *CANDIDATE_COLUMNS,
    *POINT_COLUMNS,
    *(f"{metric}_{statistic}" for metric in DISTRIBUTIONS for statistic in STATISTICS),
)


TEXT_COLUMNS = {"id", "label", "verdict", "reason", "standing", "workload"}
WHOLE_COLUMNS = {"concurrency", "repeat", "requests", "ok", "output_tokens"}
"""Every other column is a real number."""


def rows(result: CampaignResult) -> Iterator[list[object]]:
    """Rows under ``COLUMNS``."""
    for candidate in result.candidates:
        head = _candidate(candidate)
        for point in candidate.points:
            yield [*head, *_point(point)]
        if not candidate.points:
            yield [*head, *[None] * (len(COLUMNS) - len(head))]


def _candidate(candidate: CandidateResult) -> list[object]:
    low, high = candidate.objective_interval or (None, None)
    standing = None if candidate.standing is None else candidate.standing.status.value
    head = (candidate.id, candidate.label, candidate.verdict.value, candidate.reason)
    return [*head, standing, candidate.objective, low, high, candidate.boot_s]


def _point(point: PointSummary) -> list[object]:
    values: list[object] = [getattr(point, column) for column in POINT_COLUMNS]
    for metric in DISTRIBUTIONS:
        distribution: Distribution | None = getattr(point, metric)
        values += [None if distribution is None else getattr(distribution, statistic) for statistic in STATISTICS]
    return values
