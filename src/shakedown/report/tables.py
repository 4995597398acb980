"""The figures that tables and pictures share: repeats of one load level put together, and the sweep table's rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from shakedown.domain.metric import Distribution, PointSummary
from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.domain.units import latency, number
from shakedown.domain.words import Verdict

SWEEP_HEADERS = ("C", "Agg tok/s", "Per-req tok/s", "Tokens", "Wall(s)", "Ok", "TTFT p50", "TPOT p50")
"""The columns people already post to each other, with latency beside them."""


@dataclass(frozen=True, slots=True)
class Level:
    """One workload at one load, its repeats put together: rates and latencies are means over repeats."""

    workload: str
    concurrency: int | None
    request_rate: float | None
    repeats: int
    requests: int
    ok: int
    output_tokens: int
    wall_s: float
    output_tokens_per_s: float | None
    spread: tuple[float, float] | None
    """Lowest and highest throughput among the repeats; None for a single one."""
    per_request_tokens_per_s: float | None
    ttft_p50_s: float | None
    ttft_p99_s: float | None
    tpot_p50_s: float | None
    tpot_p99_s: float | None
    e2el_p50_s: float | None
    accept_length: float | None
    draft_acceptance_rate: float | None
    client_limited: bool

    @property
    def load(self) -> str:
        """The load as a person writes it: ``4`` for a concurrency, ``2.5/s`` for a rate."""
        return str(self.concurrency) if self.concurrency is not None else f"{number(self.request_rate)}/s"

    @property
    def place(self) -> tuple[str, int | None, float | None]:
        """What makes a point one of this level."""
        return (self.workload, self.concurrency, self.request_rate)

    @property
    def key(self) -> tuple[str, float, bool]:
        """Orders levels: by workload, then by load; closed loops before open ones."""
        return (self.workload, self.concurrency or self.request_rate or 0.0, self.concurrency is None)


def levels(points: Iterable[PointSummary]) -> list[Level]:
    """Put the repeats of each level together, in the order of ``Level.key``."""
    groups: dict[tuple[str, int | None, float | None], list[PointSummary]] = {}
    for point in points:
        groups.setdefault((point.workload, point.concurrency, point.request_rate), []).append(point)
    return sorted((_level(group) for group in groups.values()), key=lambda level: level.key)


def _level(group: Sequence[PointSummary]) -> Level:
    first = group[0]
    rates = [point.output_tokens_per_s for point in group if point.output_tokens_per_s is not None]
    return Level(
        workload=first.workload,
        concurrency=first.concurrency,
        request_rate=first.request_rate,
        repeats=len(group),
        requests=sum(point.requests for point in group),
        ok=sum(point.ok for point in group),
        output_tokens=sum(point.output_tokens for point in group),
        wall_s=sum(point.duration_s for point in group),
        output_tokens_per_s=mean(rates),
        spread=(min(rates), max(rates)) if len(rates) > 1 else None,
        per_request_tokens_per_s=mean(point.per_request_tokens_per_s for point in group),
        ttft_p50_s=_percentile(group, lambda point: point.ttft_s, "p50"),
        ttft_p99_s=_percentile(group, lambda point: point.ttft_s, "p99"),
        tpot_p50_s=_percentile(group, lambda point: point.tpot_s, "p50"),
        tpot_p99_s=_percentile(group, lambda point: point.tpot_s, "p99"),
        e2el_p50_s=_percentile(group, lambda point: point.e2el_s, "p50"),
        accept_length=mean(point.accept_length for point in group),
        draft_acceptance_rate=mean(point.draft_acceptance_rate for point in group),
        client_limited=any(point.client.limited for point in group),
    )


def fastest(found: Iterable[Level]) -> Level | None:
    """The level with the highest throughput; None where none was measured."""
    measured = [level for level in found if level.output_tokens_per_s is not None]
    return max(measured, key=lambda level: level.output_tokens_per_s or 0.0, default=None)


def mean(values: Iterable[float | None]) -> float | None:
    """Mean of what was measured; None where nothing was."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _percentile(
    group: Sequence[PointSummary], metric: Callable[[PointSummary], Distribution | None], name: str
) -> float | None:
    distributions = (metric(point) for point in group)
    return mean(getattr(found, name) for found in distributions if found is not None)


def sweep_rows(points: Iterable[PointSummary]) -> list[tuple[str, ...]]:
    """Rows under ``SWEEP_HEADERS``, one a level; tokens, wall time and counts are summed over repeats."""
    return [
        (
            level.load,
            number(level.output_tokens_per_s),
            number(level.per_request_tokens_per_s),
            f"{level.output_tokens:,}",
            f"{level.wall_s:.1f}",
            f"{level.ok}/{level.requests}",
            latency(level.ttft_p50_s),
            latency(level.tpot_p50_s),
        )
        for level in levels(points)
    ]


def workloads(result: CampaignResult) -> list[str]:
    """Names of the workloads, in the campaign's order; those of the points where the campaign names none."""
    declared = [str(workload["name"]) for workload in result.campaign.workloads if "name" in workload]
    measured = (point.workload for candidate in result.candidates for point in candidate.points)
    return list(dict.fromkeys([*declared, *measured]))


def ranked(result: CampaignResult) -> list[CandidateResult]:
    """Candidates as a reader wants them: the winner, then by objective; the others in their order; not run last."""
    winner = result.winner.id if result.winner else None
    return sorted(
        result.candidates,
        key=lambda candidate: (
            candidate.id != winner,
            candidate.verdict is Verdict.NOT_RUN,
            candidate.objective is None,
            -(candidate.objective or 0.0),
        ),
    )


def mean_kl(candidate: CandidateResult) -> float | None:
    """Mean KL divergence from the reference in nats, as the accuracy gate measured it."""
    for check in candidate.checks:
        value = check.evidence.get("mean_kl")
        if isinstance(value, int | float):
            return float(value)
    return None
