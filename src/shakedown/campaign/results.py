"""From what is stored to the result document."""

from __future__ import annotations

from pathlib import Path

from shakedown import __version__
from shakedown.campaign.crew import hosts_apart, hosts_lost, pooled_trials
from shakedown.campaign.enrol import PLAN
from shakedown.campaign.forced import FORCED
from shakedown.campaign.library import REUSED
from shakedown.client.clock import wall_time
from shakedown.domain.errors import StoreError
from shakedown.domain.result import CampaignResult
from shakedown.domain.spec import CampaignSpec
from shakedown.judge.ceilings import planned_ceilings
from shakedown.judge.decide import judge
from shakedown.judge.evidence import CampaignEvidence
from shakedown.judge.step_cost import ForcedRun
from shakedown.launch.secrets import hide_in_json, secret_values
from shakedown.plan.outcome import Plan
from shakedown.plan.space import BASELINE
from shakedown.store.reader import CampaignReader

RESULT_NAME = "result.json"
ENDED = "ended"
"""Key of the fact that says when a campaign ran to its end."""


def judge_campaign(reader: CampaignReader, *, complete: bool) -> CampaignResult:
    """Judge everything that is stored; keys and tokens that candidates are launched with stay out of the result."""
    gathered = evidence(reader, complete=complete)
    result = judge(gathered)
    candidates = [record.candidate for record in gathered.candidates]
    secrets = secret_values(*(named for candidate in candidates for named in (candidate.env, candidate.args)))
    return CampaignResult.model_validate_json(hide_in_json(result.model_dump_json(), secrets)) if secrets else result


def evidence(reader: CampaignReader, *, complete: bool) -> CampaignEvidence:
    """Gather what is stored into the value that the judge reads."""
    header = reader.header()
    spec = CampaignSpec.model_validate(header.spec)
    candidates, facts = reader.candidates(), reader.facts()
    plan = Plan.model_validate({"candidates": (), **facts.get(PLAN, {})})
    return CampaignEvidence(
        name=header.name,
        folder=str(reader.folder),
        shakedown_version=__version__,
        started_at=header.created_at,
        finished_at=wall_time() if complete else None,
        complete=complete,
        budget_exhausted=spec.campaign.budget_s is not None
        and (reader.wall_s() >= spec.campaign.budget_s or bool(facts.get(ENDED, {}).get("budget_exhausted"))),
        wall_s=reader.wall_s(),
        objective=spec.campaign.objective,
        margin=spec.decide.margin,
        confidence=spec.decide.confidence,
        launches=spec.decide.launches,
        repeats=spec.decide.repeats,
        max_kl=spec.gates.accuracy.max_kl,
        workloads=spec.workloads(),
        candidates=tuple(candidates),
        trials=tuple(pooled_trials(reader)),
        hosts_apart=hosts_apart(reader),
        hosts_lost=hosts_lost(reader),
        first_values=next((record.candidate.id for record in candidates if record.candidate.label == BASELINE), None),
        machine=facts.get("machine", {}),
        model=facts.get("model", {}),
        engine=facts.get("engine", {}),
        reused={trial: str(folder) for trial, folder in facts.get(REUSED, {}).items()},
        ceilings=planned_ceilings(plan.ceiling, spec.workloads()),
        forced_runs=tuple(ForcedRun.model_validate(run) for run in _list(facts.get(FORCED, {}).get("runs"))),
    )


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def load_result(folder: Path) -> CampaignResult:
    """Judge a results folder: running, finished, killed, copied or write-protected.

    Raises:
        StoreError: if it holds no campaign or cannot be read.
    """
    with CampaignReader.open(folder) as reader:
        return judge_campaign(reader, complete=ENDED in reader.facts())


def write_result(folder: Path, result: CampaignResult) -> None:
    """Write ``result.json``, whole or not at all."""
    part = folder / f"{RESULT_NAME}.part"
    try:
        part.write_text(result.model_dump_json(indent=1), encoding="utf-8")
        part.replace(folder / RESULT_NAME)
    except OSError as error:
        raise StoreError(f"{folder / RESULT_NAME}: cannot be written: {error.strerror}") from error
