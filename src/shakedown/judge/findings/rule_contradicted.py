"""A rule that was wrong: the pruned candidate was launched and did otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.findings._pruned_launches import root_line, rule_tests
from shakedown.judge.view import Judged

KIND = FindingKind.RULE_CONTRADICTED


def find(judged: Judged) -> Iterator[Finding]:
    """Pruned candidates whose launch went against the rule."""
    for test in rule_tests(judged):
        if not test.confirmed:
            yield Finding(
                kind=KIND,
                summary=f"Rule {test.record.rule} foretold otherwise of {judged.label(test.record.candidate.id)}: "
                f"{test.told}.",
                evidence={
                    "rule": test.record.rule,
                    "foretold": test.record.reason,
                    "trial": test.trial.id,
                    "root_line": root_line(test.trial),
                },
                candidates=(test.record.candidate.id,),
                advice="Report the rule with the engine's version and this log; what was true of one release may not "
                "be of the next.",
            )
