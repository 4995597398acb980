"""The campaign ended because its budget did."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind, Verdict
from shakedown.judge.view import Judged
from shakedown.judge.wording import counted

KIND = FindingKind.BUDGET_EXHAUSTED


def find(judged: Judged) -> Iterator[Finding]:
    """Candidates that the budget left unlaunched, or launches that the verdict still asked for."""
    if not judged.evidence.budget_exhausted:
        return
    left = [key for key, decision in judged.decisions.items() if decision.verdict is Verdict.NOT_RUN]
    yield Finding(
        kind=KIND,
        summary=f"The budget ran out with {counted(len(left), 'candidate')} left: the winner is the best so far."
        if left
        else "The budget ran out before the verdict was as sure as asked: the winner is the best so far.",
        evidence={"not_run": [judged.label(key) for key in left], "wall_s": judged.evidence.wall_s},
        candidates=tuple(left),
        advice="Raise budget under [campaign] and run it again with the same --out: finished trials are kept.",
    )
