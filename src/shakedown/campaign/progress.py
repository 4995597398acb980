"""Tells whoever watches what the campaign does."""

from __future__ import annotations

from shakedown.client.clock import wall_time
from shakedown.domain.events import Event
from shakedown.domain.progress import (
    CampaignEnded,
    CampaignStarted,
    CandidateAdded,
    CandidateJudged,
    TimeLeft,
    TrialBegan,
    TrialEvent,
    Watch,
)
from shakedown.domain.record import CandidateRecord
from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.domain.words import Verdict


class Announcer:
    """Sends updates to ``watch``."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def started(self, result: CampaignResult, *, estimated_s: float | None) -> None:
        """The plan stands."""
        pruned = sum(candidate.verdict is Verdict.PRUNED for candidate in result.candidates)
        self._watch(
            CampaignStarted(
                at=wall_time(),
                name=result.campaign.name,
                folder=result.campaign.folder,
                candidates=len(result.candidates) - pruned,
                pruned=pruned,
                finished=sum(candidate.launches > 0 for candidate in result.candidates),
                estimated_s=estimated_s,
            )
        )

    def added(self, record: CandidateRecord, parent: str | None, change: str | None) -> None:
        """A remedy made a further candidate."""
        candidate = record.candidate
        self._watch(
            CandidateAdded(
                at=wall_time(), candidate_id=candidate.id, label=candidate.label, derived_from=parent, remedy=change
            )
        )

    def trial_began(self, trial_id: str, record: CandidateRecord, *, index: int, of: int, host: str | None) -> None:
        """A launch begins on ``host``; None: here."""
        candidate = record.candidate
        self._watch(
            TrialBegan(
                at=wall_time(),
                trial_id=trial_id,
                candidate_id=candidate.id,
                label=candidate.label,
                index=index,
                of=of,
                host=host,
            )
        )

    def event(self, trial_id: str, event: Event) -> None:
        """Pass on an event of a trial."""
        self._watch(TrialEvent(at=wall_time(), trial_id=trial_id, event=event))

    def judged(self, candidate: CandidateResult) -> None:
        """Say what is thought of a candidate by now."""
        self._watch(
            CandidateJudged(
                at=wall_time(),
                candidate_id=candidate.id,
                label=candidate.label,
                verdict=candidate.verdict,
                reason=candidate.reason,
                headline=_headline(candidate),
            )
        )

    def time_left(self, seconds: float | None) -> None:
        """Say how long it will still take."""
        self._watch(TimeLeft(at=wall_time(), seconds=seconds))

    def ended(self, result: CampaignResult, *, interrupted: bool) -> None:
        """Say that it is over."""
        winner = result.winner.label if result.winner else None
        self._watch(CampaignEnded(at=wall_time(), winner=winner, interrupted=interrupted))


def _headline(candidate: CandidateResult) -> str | None:
    measured = [point for point in candidate.points if point.output_tokens_per_s is not None]
    if not measured:
        return None
    best = max(measured, key=lambda point: point.output_tokens_per_s or 0.0)
    at = f"concurrency {best.concurrency}" if best.concurrency is not None else f"{best.request_rate:g} requests/s"
    return f"{best.output_tokens_per_s:.1f} tok/s at {at}"
