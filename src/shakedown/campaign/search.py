"""What to launch next: the strategy's answer, with the few launches that are due whatever the strategy says."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from shakedown.domain.record import CandidateRecord, TrialRecord
from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.domain.spec import CampaignSpec
from shakedown.domain.trial import Race
from shakedown.domain.words import Verdict
from shakedown.judge.race import race_against
from shakedown.plan.strategies.base import Arm, Observation, SearchState, Strategy
from shakedown.plan.strategies.standing import launch_spread

LAUNCHED = (Verdict.FAILED, Verdict.CRASHED, Verdict.HUNG, Verdict.GARBAGE, Verdict.INACCURATE, Verdict.QUALIFIED)


@dataclass(frozen=True, slots=True)
class NextLaunch:
    """One launch to make."""

    record: CandidateRecord
    purpose: Literal["reference", "explore", "confirm", "drift", "prove_rule", "find_culprit", "again"]
    race: Race | None = None
    """Of an exploring launch: against the best so far."""


def next_launch(
    spec: CampaignSpec,
    strategy: Strategy,
    records: list[CandidateRecord],
    trials: list[TrialRecord],
    result: CampaignResult,
    *,
    has_reference: bool,
    launches_left: int | None = None,
    running: Collection[str] = (),
) -> NextLaunch | None:
    """Choose the next launch, or None when nothing more would change the verdict.

    The reference comes first, then (with ``launch_pruned``) each pruned candidate once, then what the strategy asks.

    Args:
        spec: the campaign.
        strategy: asked for everything that is not due by itself.
        records: all candidates.
        trials: all launches so far.
        result: what was judged of them.
        has_reference: whether the reference's log-probabilities are there to compare with.
        launches_left: what the budget still pays for; None: no limit.
        running: candidates that are being launched, on other hosts.
    """
    by_id = {record.candidate.id: record for record in records}
    state = search_state(spec, records, trials, result, launches_left=launches_left, running=running)
    finished = {trial.candidate_id for trial in trials if trial.state == "finished"}
    if finished and spec.campaign.launch_pruned:
        for record in records:
            if record.verdict is Verdict.PRUNED and record.candidate.id not in {*finished, *running}:
                return NextLaunch(record, "prove_rule")
    if not state.arms:
        return None
    ask = strategy.ask(state)
    if ask is None:
        return None
    record = by_id[ask.candidate]
    first = _lossless_first(record, records, trials, has_reference=has_reference)
    if first is not None and first.candidate.id in running:
        return None  # it writes what the one asked for is compared with
    race = _race(spec, state, result) if ask.purpose == "explore" else None
    return NextLaunch(first or record, ask.purpose, race)


def _race(spec: CampaignSpec, state: SearchState, result: CampaignResult) -> Race | None:
    best = next((one for one in result.candidates if result.winner and one.id == result.winner.id), None)
    if best is None:
        return None
    return race_against(
        best.label,
        best.points,
        launches=max(1, len(best.launch_ratios)),
        launch_spread=launch_spread(state),
        objective=spec.campaign.objective,
        workload_weights={workload.name: workload.weight for workload in spec.workload},
    )


def _lossless_first(
    asked: CandidateRecord, records: list[CandidateRecord], trials: list[TrialRecord], *, has_reference: bool
) -> CandidateRecord | None:
    """Before there is a reference to compare with, a lossy candidate waits for the lossless ones."""
    if has_reference or not asked.lossy:
        return None
    launched = {trial.candidate_id for trial in trials if trial.state == "finished"}
    return next(
        (
            record
            for record in records
            if record.verdict is not Verdict.PRUNED and not record.lossy and record.candidate.id not in launched
        ),
        None,
    )


def search_state(
    spec: CampaignSpec,
    records: list[CandidateRecord],
    trials: list[TrialRecord],
    result: CampaignResult,
    *,
    launches_left: int | None = None,
    running: Collection[str] = (),
) -> SearchState:
    """Everything a strategy may know, from what is stored.

    A launch under way counts as made where the candidate is known already; one whose first launch is under way is left
    out, since nothing can be said of it.
    """
    seen = {trial.candidate_id for trial in trials if trial.state == "finished"}
    arms = tuple(
        Arm(record.candidate.id, record.candidate.settings)
        for record in records
        if record.verdict is not Verdict.PRUNED
        and not (record.candidate.id in running and record.candidate.id not in seen)
    )
    judged = {candidate.id: candidate for candidate in result.candidates}
    known = {arm.id for arm in arms}
    finished = [trial for trial in trials if trial.state == "finished" and trial.candidate_id in known]
    return SearchState(
        dimensions={dimension.name: tuple(choice.label for choice in dimension.choices) for dimension in spec.vary},
        arms=arms,
        reference=result.campaign.reference or (arms[0].id if arms else ""),
        observations={
            trial.candidate_id: _observation(judged[trial.candidate_id])
            for trial in finished
            if judged[trial.candidate_id].verdict in LAUNCHED
        },
        order=(
            *(
                trial.candidate_id
                for number, trial in enumerate(finished, start=1)
                if not _was_repeated(trial, finished[number:])
            ),
            *(one for one in running if one in known),
        ),
        margin=spec.decide.margin,
        launches=spec.decide.launches,
        launches_left=launches_left,
    )


def _was_repeated(trial: TrialRecord, later: list[TrialRecord]) -> bool:
    """Whether a launch failed through no fault of its candidate (its port was taken) and was made again."""
    failure = trial.outcome.failure if trial.outcome else None
    innocent = failure is not None and failure.remedy is not None and failure.remedy.retry_unchanged
    return innocent and any(other.candidate_id == trial.candidate_id for other in later)


def _observation(candidate: CandidateResult) -> Observation:
    return Observation(
        verdict=candidate.verdict,
        ratios=candidate.launch_ratios,
        interval=candidate.objective_interval,
    )
