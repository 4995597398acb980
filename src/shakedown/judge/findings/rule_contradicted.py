"""A rule that was wrong: the pruned candidate was launched and did otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.findings._pruned_launches import by_rule, root_line
from shakedown.judge.view import Judged
from shakedown.judge.wording import listed

KIND = FindingKind.RULE_CONTRADICTED


def find(judged: Judged) -> Iterator[Finding]:
    """Pruned candidates whose launch went against the rule."""
    for tests in by_rule(judged, confirmed=False):
        names = listed([judged.label(test.record.candidate.id) for test in tests])
        yield Finding(
            kind=KIND,
            summary=f"Rule {tests[0].record.rule} foretold otherwise of {names}: {tests[0].told}.",
            evidence={
                "rule": tests[0].record.rule,
                "foretold": tests[0].record.reason,
                "trials": [test.trial.id for test in tests],
                "root_line": root_line(tests[0].trial),
            },
            candidates=tuple(test.record.candidate.id for test in tests),
            advice="Report the rule with the engine's version and this log; what was true of one release may not "
            "be of the next.",
        )
