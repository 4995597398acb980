"""Every launch that was checked failed one and the same check, so no flag of this campaign is to blame."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import CheckVerdict, FindingKind
from shakedown.judge.view import Judged

KIND = FindingKind.SAME_CHECK_FAILS

_LEAST = 2
"""Candidates from which on a failure in common says something."""


def find(judged: Judged) -> Iterator[Finding]:
    """One check that at least two candidates failed and none passed."""
    failed: dict[str, dict[str, str]] = {}
    passed: set[str] = set()
    for candidate, trials in judged.trials.items():
        for check in (check for trial in trials for check in trial.checks):
            if check.verdict is CheckVerdict.FAIL:
                failed.setdefault(check.name, {})[candidate] = check.summary
            elif check.verdict is CheckVerdict.PASS:
                passed.add(check.name)
    checked = {candidate for told in failed.values() for candidate in told}
    for name, told in failed.items():
        if name in passed or len(told) < _LEAST or len(told) < len(checked):
            continue
        yield Finding(
            kind=KIND,
            summary=f"Each of the {len(told)} candidates that were checked fails {name}: {next(iter(told.values()))}.",
            evidence={"check": name, "summaries": sorted(set(told.values()))},
            candidates=tuple(told),
            advice=f"No option of this campaign causes it: look at the installation and the base arguments. If your "
            f'clients can do without, leave the check out with [gates] skip = ["{name}"] and run again.',
        )
