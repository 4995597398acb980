"""A rule that was right: the pruned candidate was launched and failed as foretold."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.findings._pruned_launches import by_rule, root_line
from shakedown.judge.view import Judged
from shakedown.judge.wording import listed

KIND = FindingKind.RULE_CONFIRMED


def find(judged: Judged) -> Iterator[Finding]:
    """Pruned candidates whose launch bore the rule out."""
    for tests in by_rule(judged, confirmed=True):
        names = listed([judged.label(test.record.candidate.id) for test in tests])
        yield Finding(
            kind=KIND,
            summary=f"Rule {tests[0].record.rule} was right about {names}: {tests[0].told}.",
            evidence={
                "rule": tests[0].record.rule,
                "trials": [test.trial.id for test in tests],
                "root_line": root_line(tests[0].trial),
            },
            candidates=tuple(test.record.candidate.id for test in tests),
            advice="Nothing to change: set launch_pruned = false to save these launches next time.",
        )
