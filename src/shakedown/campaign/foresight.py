"""A remedy that helped once is given to waiting candidates that would fail in the same way, before they do."""

from __future__ import annotations

from shakedown.campaign.enrol import candidate_record
from shakedown.campaign.learn import LEARNED
from shakedown.campaign.mend import remedy_history, varied_names
from shakedown.diagnose.lessons import FailedLaunch, foreseen
from shakedown.diagnose.remedies import Derived, derive
from shakedown.domain.failure import Failure
from shakedown.domain.record import CandidateRecord, TrialRecord
from shakedown.domain.spec import CampaignSpec
from shakedown.domain.words import Verdict
from shakedown.engines.base import Engine
from shakedown.store.campaign_store import CampaignStore


def mend_beforehand(spec: CampaignSpec, engine: Engine, store: CampaignStore) -> None:
    """Replace waiting candidates by their mended ones where a remedy is proven: what it made came up.

    The replaced ones are pruned and name the candidate that mends them, as after a failure of their own.
    """
    records, trials = store.candidates(), store.trials()
    lessons = _proven(records, trials)
    launched = {trial.candidate_id for trial in trials}
    for record in records:
        candidate = record.candidate
        if record.verdict is not Verdict.NOT_RUN or candidate.id in launched or not lessons:
            continue
        lesson = foreseen(candidate, [known for known, _ in lessons.values()], aliases=engine.aliases)
        if lesson is None:
            continue
        failure = lessons[lesson.candidate.id][1]
        outcome = derive(
            candidate,
            failure,
            varied=varied_names(spec),
            history=remedy_history(store, candidate),
            engine_version=candidate.engine.versions.get(spec.engine.kind),
            aliases=engine.aliases,
        )
        if not isinstance(outcome, Derived) or outcome.retry:
            continue
        change = ", ".join(outcome.changes)
        reason = (
            f"would fail as {lesson.candidate.label} did ({failure.title}); launched with what helped there: {change}"
        )
        update = {"verdict": Verdict.PRUNED, "reason": reason, "rule": LEARNED, "mended_by": outcome.candidate.id}
        if store.candidate(outcome.candidate.id) is None:
            mended = outcome.candidate.model_copy(update={"label": f"{candidate.label} + {change}"})
            store.put_candidate(candidate_record(mended, engine, store))
        # Last: whoever is named as the mender is there, even if this process is killed between the two.
        store.put_candidate(record.model_copy(update=update))


def _proven(records: list[CandidateRecord], trials: list[TrialRecord]) -> dict[str, tuple[FailedLaunch, Failure]]:
    """Failed boots whose mended candidate came up, by the id of the one that failed."""
    by_id = {record.candidate.id: record for record in records}
    came_up = {trial.candidate_id for trial in trials if trial.ready is not None}
    proven = {}
    for trial in trials:
        record = by_id[trial.candidate_id]
        failure = trial.outcome.failure if trial.outcome and trial.outcome.verdict is Verdict.FAILED else None
        if failure is not None and failure.signature is not None and record.mended_by in came_up:
            proven[record.candidate.id] = (FailedLaunch(record.candidate, failure.signature), failure)
    return proven
