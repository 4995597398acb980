"""A rule that was right: the pruned candidate was launched and failed as foretold."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.findings._pruned_launches import root_line, rule_tests
from shakedown.judge.view import Judged

KIND = FindingKind.RULE_CONFIRMED


def find(judged: Judged) -> Iterator[Finding]:
    """Pruned candidates whose launch bore the rule out."""
    for test in rule_tests(judged):
        if test.confirmed:
            name = judged.label(test.record.candidate.id)
            yield Finding(
                kind=KIND,
                summary=f"Rule {test.record.rule} was right about {name}: {test.told}.",
                evidence={"rule": test.record.rule, "trial": test.trial.id, "root_line": root_line(test.trial)},
                candidates=(test.record.candidate.id,),
                advice="Nothing to change: set launch_pruned = false to save this launch next time.",
            )
