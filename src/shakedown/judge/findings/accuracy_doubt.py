"""Candidates that passed, or were spared, the accuracy gate with a doubt left."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.check import CheckResult
from shakedown.domain.failure import Symptom
from shakedown.domain.record import CandidateRecord
from shakedown.domain.result import Finding
from shakedown.domain.words import Category, CheckVerdict, FindingKind, Verdict
from shakedown.judge.view import Judged

KIND = FindingKind.ACCURACY_DOUBT

_CLOSE = 0.5
"""Share of the limit from which on a passed check leaves a doubt."""


def find(judged: Judged) -> Iterator[Finding]:
    """A warning of the server about accuracy, a lossy candidate not checked, or one close to the limit."""
    for record in judged.qualified():
        trials = judged.trials.get(record.candidate.id, [])
        checks = [check for trial in trials for check in trial.checks if check.fails_as is Verdict.INACCURATE]
        warnings = {
            warning.line: warning
            for trial in trials
            for warning in (
                *(trial.ready.warnings if trial.ready else ()),
                *(trial.outcome.warnings if trial.outcome else ()),
            )
            if warning.category is Category.ACCURACY_RISK
        }
        yield from (_warned(judged, record, warning) for warning in warnings.values())
        if record.lossy and trials and not any(check.verdict is CheckVerdict.PASS for check in checks):
            yield _unchecked(judged, record, checks)
        yield from _close_calls(judged, record, checks)


def _warned(judged: Judged, record: CandidateRecord, warning: Symptom) -> Finding:
    return Finding(
        kind=KIND,
        summary=f"The server warns about the accuracy of {judged.label(record.candidate.id)}: {warning.title}.",
        evidence={"line": warning.line, "line_number": warning.line_number, "signature": warning.signature},
        candidates=(record.candidate.id,),
        advice=warning.advice or "Gate its accuracy at the workload's context length.",
    )


def _unchecked(judged: Judged, record: CandidateRecord, checks: list[CheckResult]) -> Finding:
    why = checks[-1].summary if checks else "the level of the gates does not include it"
    return Finding(
        kind=KIND,
        summary=f"{judged.label(record.candidate.id)} is lossy and was not compared with the reference: {why}.",
        evidence={"lossy": list(record.lossy), "checks": [check.name for check in checks]},
        candidates=(record.candidate.id,),
        advice="Raise [gates] level, or check it with `shakedown check` against the reference.",
    )


def _close_calls(judged: Judged, record: CandidateRecord, checks: list[CheckResult]) -> Iterator[Finding]:
    for check in checks[-1:]:
        mean_kl, limit = check.evidence.get("mean_kl"), check.evidence.get("limit", judged.evidence.max_kl)
        if check.verdict is not CheckVerdict.PASS or not isinstance(mean_kl, float) or not isinstance(limit, float):
            continue
        undecided = check.evidence.get("decision") == "undecided"
        if mean_kl < _CLOSE * limit and not undecided:
            continue
        doubt = "its interval contains the limit" if undecided else "that is more than half of it"
        yield Finding(
            kind=KIND,
            summary=f"{judged.label(record.candidate.id)} passed with a mean KL divergence of {mean_kl:.4f} nats "
            f"from the reference, limit {limit:g}: {doubt}.",
            evidence={"mean_kl": mean_kl, "limit": limit, "check": check.name},
            candidates=(record.candidate.id,),
            advice="Check it again at level thorough before it goes into production.",
        )
