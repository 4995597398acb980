"""What speculation cost and brought, from the server's own counters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shakedown.domain.metric import PointSummary


@dataclass(frozen=True, slots=True)
class DraftTotals:
    """Counters of several points together; ``steps`` counts one decode step of one request.

    Every step yields one token of the model's own and those drafted ones that it accepts, whether it had a draft or
    not, so steps = generated - accepted, and the accept length is generated / steps, bonus token included.
    """

    generated: float
    drafted: float
    accepted: float

    @property
    def accept_length(self) -> float | None:
        """Tokens a step over all steps, those without a draft included; None when nothing was generated."""
        steps = self.generated - self.accepted
        return self.generated / steps if steps > 0 else None

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted share of the drafted tokens; None without drafts."""
        return self.accepted / self.drafted if self.drafted > 0 else None

    @property
    def most_possible(self) -> float | None:
        """Accept length if every drafted token had been accepted in the steps that were made."""
        steps = self.generated - self.accepted
        return 1 + self.drafted / steps if steps > 0 else None


def draft_totals(points: Iterable[PointSummary]) -> DraftTotals | None:
    """Sum the counters; None where the server has none for drafts."""
    counted = [
        point.counters
        for point in points
        if point.counters.drafted_tokens is not None and point.counters.generated_tokens
    ]
    if not counted:
        return None
    return DraftTotals(
        generated=sum(counters.generated_tokens or 0 for counters in counted),
        drafted=sum(counters.drafted_tokens or 0 for counters in counted),
        accepted=sum(counters.accepted_tokens or 0 for counters in counted),
    )


def step_ratio(speculating: Sequence[PointSummary], plain: Sequence[PointSummary]) -> float | None:
    """Time of a verify step over that of a plain step: the accept length at which speculation breaks even.

    A request's step takes its time per output token times the tokens a step brings; a plain step brings one.
    """
    totals = draft_totals(speculating)
    length = totals.accept_length if totals else None
    ours, theirs = _mean_tpot_s(speculating), _mean_tpot_s(plain)
    return ours * length / theirs if length and ours and theirs else None


def _mean_tpot_s(points: Sequence[PointSummary]) -> float | None:
    values = [point.tpot_s.mean for point in points if point.tpot_s is not None]
    return sum(values) / len(values) if values else None
