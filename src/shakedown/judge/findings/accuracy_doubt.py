"""Candidates that passed, or were spared, the accuracy gate with a doubt left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from shakedown.domain.check import CheckResult
from shakedown.domain.record import CandidateRecord
from shakedown.domain.result import Finding
from shakedown.domain.words import Category, CheckVerdict, FindingKind, Verdict
from shakedown.judge.view import Judged
from shakedown.judge.wording import listed

KIND = FindingKind.ACCURACY_DOUBT

_CLOSE = 0.5
"""Share of the limit from which on a passed check leaves a doubt."""


@dataclass(frozen=True, slots=True)
class _Doubt:
    """One candidate's; ``words`` has ``{who}`` for its label, and candidates in the same words share a finding."""

    candidate_id: str
    words: str
    advice: str
    evidence: Mapping[str, object]


def find(judged: Judged) -> Iterator[Finding]:
    """A warning of the server about accuracy, a lossy candidate not checked, or one close to the limit."""
    alike: dict[tuple[str, str], list[_Doubt]] = {}
    for record in judged.qualified():
        for doubt in _doubts(judged, record):
            alike.setdefault((doubt.words, doubt.advice), []).append(doubt)
    for (words, advice), doubts in alike.items():
        labels = [judged.label(doubt.candidate_id) for doubt in doubts]
        yield Finding(
            kind=KIND,
            summary=words.format(who=listed(labels)),
            evidence={**doubts[0].evidence, "labels": labels},
            candidates=tuple(doubt.candidate_id for doubt in doubts),
            advice=advice,
        )


def _doubts(judged: Judged, record: CandidateRecord) -> Iterator[_Doubt]:
    trials = judged.trials.get(record.candidate.id, [])
    checks = [check for trial in trials for check in trial.checks if check.fails_as is Verdict.INACCURATE]
    warnings = {
        warning.title: warning
        for trial in trials
        for warning in (
            *(trial.ready.warnings if trial.ready else ()),
            *(trial.outcome.warnings if trial.outcome else ()),
        )
        if warning.category is Category.ACCURACY_RISK
    }
    for warning in warnings.values():
        yield _Doubt(
            record.candidate.id,
            f"The server warns about the accuracy of {{who}}: {_literal(warning.title)}.",
            warning.advice or "Gate its accuracy at the workload's context length.",
            {"line": warning.line, "line_number": warning.line_number, "signature": warning.signature},
        )
    if record.lossy and trials and not any(check.verdict is CheckVerdict.PASS for check in checks):
        why = checks[-1].summary if checks else "the level of the gates does not include it"
        yield _Doubt(
            record.candidate.id,
            f"{{who}}: lossy, and not compared with the reference: {_literal(why)}.",
            "Raise [gates] level, or check with `shakedown check` against the reference.",
            {"lossy": list(record.lossy), "checks": [check.name for check in checks]},
        )
    yield from _close_calls(judged, record, checks)


def _close_calls(judged: Judged, record: CandidateRecord, checks: list[CheckResult]) -> Iterator[_Doubt]:
    for check in checks[-1:]:
        mean_kl, limit = check.evidence.get("mean_kl"), check.evidence.get("limit", judged.evidence.max_kl)
        if check.verdict is not CheckVerdict.PASS or not isinstance(mean_kl, float) or not isinstance(limit, float):
            continue
        undecided = check.evidence.get("decision") == "undecided"
        if mean_kl < _CLOSE * limit and not undecided:
            continue
        doubt = "the interval contains the limit" if undecided else "that is more than half of it"
        yield _Doubt(
            record.candidate.id,
            f"{{who}} passed with a mean KL divergence of {mean_kl:.4f} nats from the reference, "
            f"limit {limit:g}: {doubt}.",
            "Check again at level thorough before it goes into production.",
            {"mean_kl": mean_kl, "limit": limit, "check": check.name},
        )


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
