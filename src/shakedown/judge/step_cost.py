"""What speculation would bring at draft lengths that were never tried: step times from two launches, drafts from one.

The time of a verification step depends on how many tokens it verifies and not on whose they are, so it can be measured
with acceptance made up. Between two draft lengths it is taken to grow linearly (each drafted token adds a pass of the
drafter and a row to the batch); measured on Qwen3.5 at one, two and three tokens: 17.5, 18.8 and 19.6 ms. What drafts
are worth comes from the real workload's counters. Together they give the throughput of every draft length at every
concurrency: tau tokens a step over the step's time (Leviathan et al., arXiv 2211.17192, with the measured cost of
verification in place of a free one).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from shakedown.domain.base import Value
from shakedown.domain.metric import PointSummary
from shakedown.judge.speculation import observe


class ForcedRun(Value):
    """One launch with acceptance made up: never a candidate."""

    candidate_id: str
    """The speculating candidate whose step it measures."""
    draft_tokens: int = Field(ge=1)
    accept_length: float
    """As asked for; what the counters say is in the points."""
    points: tuple[PointSummary, ...]
    seconds: float = Field(default=0.0, ge=0)
    """From the start of its server to its end: the engine's time, not Shakedown's."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One draft length at one concurrency."""

    draft_tokens: int
    concurrency: int
    accept_length: float
    step_s: float
    output_tokens_per_s: float


def step_time_s(runs: Sequence[ForcedRun], concurrency: int, draft_tokens: int) -> float | None:
    """Time of a verification step at a concurrency, from the shortest and the longest draft measured there."""
    measured = {
        run.draft_tokens: seconds for run in runs if (seconds := _measured_step_s(run.points, concurrency)) is not None
    }
    if not measured:
        return None
    low, high = min(measured), max(measured)
    if low == high:
        return measured[low] if draft_tokens == low else None
    slope = (measured[high] - measured[low]) / (high - low)
    return measured[low] + slope * (draft_tokens - low)


def accept_length_at(points: Sequence[PointSummary], draft_tokens: int) -> float | None:
    """Tokens of a step with drafts of another length, from the counters of a real workload.

    From the positions where the server counts them (the first i drafts are accepted or not whatever follows); else
    every draft is taken to be accepted with one chance, given those before it, that explains the length seen.
    """
    seen = observe(points)
    if seen is None or not seen.drafting or seen.most_possible is None:
        return None
    shares = _position_shares(points)
    drafted = round(seen.most_possible - 1)
    if shares is None or len(shares) < draft_tokens:
        chance = _chance(seen.accept_length, max(drafted, 1))
        shares = tuple(chance**place for place in range(1, draft_tokens + 1))
    return 1 + sum(shares[:draft_tokens])


def predict(
    runs: Sequence[ForcedRun], points: Sequence[PointSummary], draft_tokens: Sequence[int], output_tokens: int
) -> list[Prediction]:
    """Predict each draft length at each concurrency that the forced launches were measured at.

    Args:
        runs: launches with acceptance made up.
        points: the real workload under speculation, any draft length.
        draft_tokens: lengths to predict.
        output_tokens: of each request of the workload.
    """
    found = []
    for concurrency in sorted({p.concurrency for run in runs for p in run.points if p.concurrency is not None}):
        ttft_s = _mean_ttft_s(runs, concurrency)
        for length in draft_tokens:
            step_s, accepted = step_time_s(runs, concurrency, length), accept_length_at(points, length)
            if step_s is None or accepted is None or ttft_s is None:
                continue
            # A closed loop: each slot spends its time on a first token and on the steps of the others; the last step is
            # cut short at the request's limit, half of its extra tokens on average.
            steps = (output_tokens - 1 + (accepted - 1) / 2) / accepted
            request_s = ttft_s + steps * step_s
            rate = concurrency * output_tokens / request_s
            found.append(Prediction(length, concurrency, accepted, step_s, rate))
    return found


def _measured_step_s(points: Sequence[PointSummary], concurrency: int) -> float | None:
    here = [point for point in points if point.concurrency == concurrency and point.tpot_s is not None]
    seen = observe(here)
    if seen is None or not seen.drafting:
        return None
    tpot_s = sum(point.tpot_s.mean for point in here if point.tpot_s is not None) / len(here)
    return tpot_s * seen.tokens_per_step


def _mean_ttft_s(runs: Sequence[ForcedRun], concurrency: int) -> float | None:
    values = [
        p.ttft_s.mean for run in runs for p in run.points if p.concurrency == concurrency and p.ttft_s is not None
    ]
    return sum(values) / len(values) if values else None


def _position_shares(points: Sequence[PointSummary]) -> tuple[float, ...] | None:
    counted = [point.counters for point in points if point.counters.accepted_per_position and point.counters.drafts]
    if not counted:
        return None
    drafts = sum(counters.drafts or 0.0 for counters in counted)
    width = min(len(counters.accepted_per_position or ()) for counters in counted)
    sums = [sum((counters.accepted_per_position or ())[place] for counters in counted) for place in range(width)]
    return tuple(value / drafts for value in sums)


def _chance(accept_length: float, drafted: int) -> float:
    """Chance a with 1 + a + a^2 + ... + a^drafted = accept_length, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if 1 + sum(middle**place for place in range(1, drafted + 1)) < accept_length:
            low = middle
        else:
            high = middle
    return (low + high) / 2
