"""What speculation cost and brought, from the server's own counters or from what its answers said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from shakedown.domain.metric import CounterWindow, PointSummary


@dataclass(frozen=True, slots=True)
class Speculation:
    """Several points together; a step is one decode step of one request.

    Attributes:
        accept_length: tokens per verification step, bonus token included.
        tokens_per_step: tokens per step over all steps, those without a draft (which give one token) included.
        verified_share: share of the steps that verified a draft.
        acceptance_rate: accepted share of the drafted tokens; None without drafts.
        most_possible: accept length if every drafted token had been accepted; None where drafts are not counted.
        drafted, accepted, generated: tokens; None where they are not counted.
    """

    accept_length: float
    tokens_per_step: float
    verified_share: float = 1.0
    acceptance_rate: float | None = None
    most_possible: float | None = None
    drafted: float | None = None
    accepted: float | None = None
    generated: float | None = None

    @property
    def drafting(self) -> bool:
        """Whether drafts were seen at all."""
        return self.drafted > 0 if self.drafted is not None else self.accept_length > 1


def observe(points: Iterable[PointSummary]) -> Speculation | None:
    """Sum what the points say of speculation; None where they say nothing.

    Every decode step yields one token of the model's own and the drafted ones that it accepts, and a request's first
    token comes from its prefill, so steps = generated - accepted - finished requests (where the server counts them).
    Where the server does not count its drafts, every step is taken to have had one.
    """
    points = list(points)
    counted = [point.counters for point in points if _tells(point.counters)]
    if not counted:
        return _told_by_answers(points)
    generated = _total(counted, lambda counters: counters.generated_tokens)
    width_known = all(counters.drafted_tokens is not None for counters in counted)
    drafted = _total(counted, lambda counters: counters.drafted_tokens) if width_known else None
    accepted = _total(counted, lambda counters: counters.accepted_tokens)
    decoded = generated - _total(counted, lambda counters: counters.finished_requests)
    steps = decoded - accepted
    drafts_known = all(counters.drafts is not None for counters in counted)
    verified = _total(counted, lambda counters: counters.drafts) if drafts_known else steps
    # Drafts that were accepted beyond a request's limit are counted and never sent: then there were more steps.
    steps = max(steps, verified)
    if steps <= 0:
        return None
    return Speculation(
        accept_length=1 + accepted / verified if verified else 1.0,
        tokens_per_step=decoded / steps,
        verified_share=verified / steps,
        acceptance_rate=accepted / drafted if drafted else None,
        most_possible=1 + drafted / verified if verified and drafted is not None else None,
        drafted=drafted,
        accepted=accepted,
        generated=generated,
    )


def _tells(counters: CounterWindow) -> bool:
    """Whether a window counts drafts or steps, and what came of them."""
    if not counters.generated_tokens:
        return False
    if counters.drafted_tokens == 0:
        return True
    counted = counters.drafted_tokens is not None or counters.drafts is not None
    return counted and counters.accepted_tokens is not None


def break_even(speculating: Sequence[PointSummary], plain: Sequence[PointSummary]) -> float | None:
    """Time of a verification step over that of a plain step: the accept length at which speculation breaks even.

    A request's step takes its time per output token times the tokens that a step brings; a plain step brings one.
    Steps without a draft are plain ones and are taken out of the average.
    """
    seen, ours_s, theirs_s = observe(speculating), _mean_tpot_s(speculating), _mean_tpot_s(plain)
    if seen is None or not seen.verified_share or not ours_s or not theirs_s:
        return None
    average = ours_s * seen.tokens_per_step / theirs_s
    return (average - (1 - seen.verified_share)) / seen.verified_share


def _told_by_answers(points: Sequence[PointSummary]) -> Speculation | None:
    lengths = [point.accept_length for point in points if point.accept_length is not None]
    rates = [point.draft_acceptance_rate for point in points if point.draft_acceptance_rate is not None]
    if not lengths:
        return None
    length = sum(lengths) / len(lengths)
    return Speculation(length, length, acceptance_rate=sum(rates) / len(rates) if rates else None)


def _total(counted: Sequence[CounterWindow], value: Callable[[CounterWindow], float | None]) -> float:
    return sum(value(counters) or 0.0 for counters in counted)


def _mean_tpot_s(points: Sequence[PointSummary]) -> float | None:
    values = [point.tpot_s.mean for point in points if point.tpot_s is not None]
    return sum(values) / len(values) if values else None
