"""After a failed launch: the remedy's candidate, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from shakedown.campaign.enrol import candidate_record
from shakedown.diagnose.remedies import Derived, Refused, derive
from shakedown.domain.candidate import Candidate
from shakedown.domain.record import CandidateRecord
from shakedown.domain.spec import CampaignSpec, Dimension
from shakedown.domain.words import Verdict
from shakedown.engines.base import Engine
from shakedown.store.campaign_store import CampaignStore

BOOT_FAILURES = (Verdict.FAILED, Verdict.CRASHED, Verdict.HUNG)
RETRIES = 2
"""Launches unchanged, in a row, after a failure that is not the candidate's fault (a port that was taken): not once
only, because whoever took the first port may well take the second."""


@dataclass(frozen=True, slots=True)
class Mended:
    """What to launch next because of a remedy, and what was changed; ``is_new`` unless it is the same launch again."""

    record: CandidateRecord
    failed: str
    """Label of the candidate that failed."""
    change: str
    is_new: bool


def mend(spec: CampaignSpec, engine: Engine, store: CampaignStore, trial_id: str) -> Mended | None:
    """Apply the remedy of a finished trial's failure, once for each candidate.

    The failed candidate names the one that mends it (``mended_by``), whether the remedy made it or it was there
    already; a remedy that is refused is said in its reason.
    """
    trial = store.trial(trial_id)
    assert trial is not None
    record = store.candidate(trial.candidate_id)
    assert record is not None
    if trial.outcome is None or trial.outcome.verdict not in BOOT_FAILURES or record.mended_by is not None:
        return None
    outcome = derive(
        record.candidate,
        trial.outcome.failure,
        varied=varied_names(spec),
        history=remedy_history(store, record.candidate),
        engine_version=record.candidate.engine.versions.get(spec.engine.kind),
        aliases=engine.aliases,
    )
    if isinstance(outcome, Refused):
        mended = outcome.mended
        if mended is not None and store.candidate(mended.id) is not None:
            store.put_candidate(record.model_copy(update={"mended_by": mended.id}))
        elif outcome.kind != "no_remedy":
            store.put_candidate(record.model_copy(update={"reason": outcome.reason}))
        return None
    if outcome.retry:
        last = [trial.id for trial in store.trials(record.candidate.id) if trial.state == "finished"][-1]
        again = trial_id == last and _failures_in_a_row(store, record.candidate.id, outcome.signature) <= RETRIES
        return Mended(record, record.candidate.label, ", ".join(outcome.changes), is_new=False) if again else None
    return _adopt(engine, store, record, outcome)


def _adopt(engine: Engine, store: CampaignStore, record: CandidateRecord, outcome: Derived) -> Mended | None:
    mended = outcome.candidate
    change = ", ".join(outcome.changes)
    known = store.candidate(mended.id) is not None
    mended = mended.model_copy(update={"label": f"{record.candidate.label} + {change}"})
    added = candidate_record(mended, engine, store)
    if not known:
        store.put_candidate(added)
    # Last: whoever is named as the mender is there, even if this process is killed between the two.
    store.put_candidate(record.model_copy(update={"mended_by": mended.id}))
    return None if known else Mended(added, record.candidate.label, change, is_new=True)


def _failures_in_a_row(store: CampaignStore, candidate_id: str, signature: str) -> int:
    """How many of a candidate's last launches failed in the same way."""
    count = 0
    for trial in reversed(store.trials(candidate_id)):
        if trial.state == "finished":
            failure = trial.outcome.failure if trial.outcome else None
            if failure is None or failure.signature != signature:
                break
            count += 1
    return count


def varied_names(spec: CampaignSpec) -> dict[str, set[str]]:
    """Each dimension's name to the arguments and environment variables that its options set."""
    return {dimension.name: _members(dimension) for dimension in spec.vary}


def _members(dimension: Dimension) -> set[str]:
    return {name for option in dimension.choices for name in (*option.args, *option.env)}


def remedy_history(store: CampaignStore, candidate: Candidate) -> list[str]:
    """Signatures whose remedies led to a candidate, oldest first."""
    history: list[str] = []
    here: Candidate | None = candidate
    while here is not None and here.remedy is not None:
        history.insert(0, here.remedy)
        parent = store.candidate(here.derived_from) if here.derived_from else None
        here = parent.candidate if parent else None
    return history
