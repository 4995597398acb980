"""What a failure that nothing mends teaches: candidates that would fail in the same way are not launched."""

from __future__ import annotations

from shakedown.diagnose.lessons import FailedLaunch, foreseen
from shakedown.domain.record import CandidateRecord, TrialRecord
from shakedown.domain.words import Verdict
from shakedown.engines.base import Engine
from shakedown.store.campaign_store import CampaignStore

LEARNED = "learned-from-failure"
"""In place of a rule's id."""


def learn(engine: Engine, store: CampaignStore) -> list[CandidateRecord]:
    """Prune the waiting candidates that would repeat a failure without remedy; returns them as they now stand."""
    records, trials = store.candidates(), store.trials()
    lessons = {lesson.candidate.id: (lesson, title) for lesson, title in _lessons(records, trials)}
    launched = {trial.candidate_id for trial in trials}
    pruned = []
    for record in records:
        if record.verdict is not Verdict.NOT_RUN or record.candidate.id in launched:
            continue
        lesson = foreseen(record.candidate, [known for known, _ in lessons.values()], aliases=engine.aliases)
        if lesson is not None:
            title = lessons[lesson.candidate.id][1]
            reason = f"would fail as {lesson.candidate.label} did: {title}"
            pruned.append(record.model_copy(update={"verdict": Verdict.PRUNED, "reason": reason, "rule": LEARNED}))
    for record in pruned:
        store.put_candidate(record)
    return pruned


def _lessons(records: list[CandidateRecord], trials: list[TrialRecord]) -> list[tuple[FailedLaunch, str]]:
    """Failures of boots whose candidate nothing mended, with what they were."""
    by_id = {record.candidate.id: record for record in records}
    lessons = []
    for trial in trials:
        record = by_id[trial.candidate_id]
        failure = trial.outcome.failure if trial.outcome and trial.outcome.verdict is Verdict.FAILED else None
        if failure is not None and failure.signature is not None and record.mended_by is None:
            lessons.append((FailedLaunch(record.candidate, failure.signature), failure.title))
    return lessons
