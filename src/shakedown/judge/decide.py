"""From stored evidence to the result document: verdicts, reference, standings, comparisons, winner, findings."""

from __future__ import annotations

from collections.abc import Mapping

from shakedown.domain.record import CandidateRecord, TrialRecord
from shakedown.domain.result import (
    CampaignInfo,
    CampaignResult,
    CandidateResult,
    CeilingResult,
    DecisionRule,
    Interval,
    StandingResult,
    TrialResult,
    Winner,
)
from shakedown.domain.words import Verdict
from shakedown.judge.evidence import CampaignEvidence
from shakedown.judge.findings import find_all
from shakedown.judge.merit import arm_of
from shakedown.judge.overhead import overhead_share
from shakedown.judge.pareto import pareto_set
from shakedown.judge.reference import choose_reference
from shakedown.judge.standing import (
    choose_winner,
    compare_all,
    compare_pair,
    launch_ratios,
    objectives,
    standing_against,
    workload_bests,
)
from shakedown.judge.verdicts import decide_verdict, qualified_trials
from shakedown.judge.view import Judged, trials_by_candidate
from shakedown.judge.why import explain_winner
from shakedown.judge.wording import AGGREGATE
from shakedown.stats.equivalence import Experiment


def judge(evidence: CampaignEvidence) -> CampaignResult:
    """Judge a campaign as it stands. Pure: the same evidence gives the same result."""
    trials = trials_by_candidate(evidence)
    decisions = {
        record.candidate.id: decide_verdict(record, trials.get(record.candidate.id, []))
        for record in evidence.candidates
    }
    verdicts = {candidate_id: decision.verdict for candidate_id, decision in decisions.items()}
    experiment = _experiment(evidence, trials, verdicts)
    reference = choose_reference(_measured_first(evidence, experiment), verdicts, evidence.first_values)
    objective = objectives(experiment, reference) if reference is not None else {}
    lossy = {record.candidate.id: record.lossy for record in evidence.candidates}
    winner = choose_winner(experiment, {key: ratio for key, (ratio, _) in objective.items()}, lossy)
    comparisons = compare_all(experiment, evidence.candidates, winner=winner, reference=reference)
    judged = Judged(evidence, decisions, reference, winner, experiment, comparisons)
    standings = {
        candidate_id: standing_against(experiment, candidate_id, winner) for candidate_id in experiment.arms if winner
    }
    per_workload = workload_bests(experiment, winner, [w.name for w in evidence.workloads]) if winner else {}
    disagreeing = (
        compare_pair(experiment, best, winner, None, workload) for workload, best in per_workload.items() if winner
    )
    return CampaignResult(
        campaign=_info(evidence, reference, experiment),
        machine=evidence.machine,
        model=evidence.model,
        engine=evidence.engine,
        candidates=tuple(
            _candidate(record, judged, objective.get(record.candidate.id), standings.get(record.candidate.id))
            for record in evidence.candidates
        ),
        comparisons=comparisons + tuple(comparison for comparison in disagreeing if comparison is not None),
        winner=_winner(judged, standings, objective.get(winner) if winner else None),
        findings=find_all(judged),
        pareto=pareto_set(judged),
        ceilings=tuple(
            CeilingResult.model_validate(ceiling.model_dump(include=set(CeilingResult.model_fields)))
            for ceiling in evidence.ceilings
        ),
        trials=tuple(_trial(trial, evidence.reused.get(trial.id)) for trial in evidence.trials),
    )


def _measured_first(evidence: CampaignEvidence, experiment: Experiment) -> list[CandidateRecord]:
    """Candidates that may be the reference: the measured ones, or all while none is."""
    measured = [record for record in evidence.candidates if record.candidate.id in experiment.arms]
    return measured or list(evidence.candidates)


def _experiment(
    evidence: CampaignEvidence, trials: Mapping[str, list[TrialRecord]], verdicts: Mapping[str, Verdict]
) -> Experiment:
    arms = {}
    for record in evidence.candidates:
        candidate_id = record.candidate.id
        if verdicts[candidate_id] is Verdict.QUALIFIED:
            arm = arm_of(qualified_trials(trials.get(candidate_id, [])), evidence.objective)
            if arm.points():
                arms[candidate_id] = arm
    weights = {workload.name: workload.weight for workload in evidence.workloads}
    return Experiment(arms, weights, margin=evidence.margin, confidence=evidence.confidence)


def _info(evidence: CampaignEvidence, reference: str | None, experiment: Experiment) -> CampaignInfo:
    return CampaignInfo(
        name=evidence.name,
        folder=evidence.folder,
        shakedown_version=evidence.shakedown_version,
        started_at=evidence.started_at,
        finished_at=evidence.finished_at,
        complete=evidence.complete,
        reference=reference,
        decision=DecisionRule(
            objective=evidence.objective,
            margin=evidence.margin,
            confidence=evidence.confidence,
            launches=evidence.launches,
            repeats=evidence.repeats,
            launch_variance_measured=experiment.launch_variance_measured,
            aggregate=AGGREGATE,
        ),
        workloads=tuple(workload.model_dump(mode="json") for workload in evidence.workloads),
        overhead_share=overhead_share(evidence),
    )


def _candidate(
    record: CandidateRecord,
    judged: Judged,
    objective: tuple[float, Interval | None] | None,
    standing: StandingResult | None,
) -> CandidateResult:
    candidate = record.candidate
    decision = judged.decisions[candidate.id]
    trials = judged.trials.get(candidate.id, [])
    last_ready = next((trial.ready for trial in reversed(trials) if trial.ready is not None), None)
    outcomes = [trial.outcome for trial in trials if trial.outcome is not None]
    return CandidateResult(
        id=candidate.id,
        label=candidate.label,
        settings=candidate.settings,
        args=candidate.args,
        env=candidate.env,
        derived_from=candidate.derived_from,
        mended_by=record.mended_by,
        verdict=decision.verdict,
        reason=decision.reason,
        rule=record.rule,
        rule_sources=record.rule_sources,
        failure=decision.failure,
        effective=last_ready.effective if last_ready else {},
        warnings=outcomes[-1].warnings or (last_ready.warnings if last_ready else ()) if outcomes else (),
        lossy=record.lossy,
        boot_s=last_ready.boot_s if last_ready else None,
        launches=len(trials),
        checks=next((trial.checks for trial in reversed(trials) if trial.checks), ()),
        points=tuple(judged.points(candidate.id)),
        objective=objective[0] if objective else None,
        objective_interval=objective[1] if objective else None,
        cut_short=outcomes[-1].cut_short if outcomes else None,
        launch_ratios=launch_ratios(judged.experiment, candidate.id, judged.reference),
        standing=standing,
        command=record.command,
    )


def _winner(
    judged: Judged,
    standings: Mapping[str, StandingResult | None],
    objective: tuple[float, Interval | None] | None,
) -> Winner | None:
    if judged.winner is None or objective is None:
        return None
    record = judged.records[judged.winner]
    return Winner(
        id=judged.winner,
        label=judged.label(judged.winner),
        command=record.command or "",
        why=explain_winner(judged, standings, objective),
    )


def _trial(trial: TrialRecord, reused_from: str | None) -> TrialResult:
    return TrialResult(
        id=trial.id,
        candidate=trial.candidate_id,
        started_at=trial.begun_at,
        finished_at=trial.ended_at,
        boot_s=trial.ready.boot_s if trial.ready else None,
        phases=trial.phases,
        verdict=trial.outcome.verdict if trial.outcome else None,
        log_file=trial.launch.log_file if trial.launch else None,
        host=trial.host,
        reused_from=reused_from,
    )
