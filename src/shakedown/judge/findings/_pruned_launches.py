"""What happened to candidates that a rule had pruned and that were launched all the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from shakedown.domain.events import TrialFinished
from shakedown.domain.failure import Remedy
from shakedown.domain.record import CandidateRecord, TrialRecord
from shakedown.domain.words import Verdict
from shakedown.judge.settings import as_text, difference
from shakedown.judge.view import Judged

_HAPPENED = {
    Verdict.FAILED: "did not start",
    Verdict.CRASHED: "crashed while serving",
    Verdict.HUNG: "hung",
    Verdict.GARBAGE: "answered garbage",
    Verdict.INACCURATE: "was inaccurate",
}


class RuleTest(NamedTuple):
    """One launch of a pruned candidate."""

    record: CandidateRecord
    trial: TrialRecord
    confirmed: bool
    told: str
    """What the log said, in a clause."""


def rule_tests(judged: Judged) -> Iterator[RuleTest]:
    """Compare the last launch of each pruned candidate with what the rule foretold.

    A rule is confirmed when the launch did not qualify and, where the rule knows what to change, the log named a
    change that is part of it.
    """
    for record in judged.evidence.candidates:
        trials = judged.trials.get(record.candidate.id, [])
        if record.verdict is Verdict.PRUNED and trials and trials[-1].outcome is not None:
            confirmed, told = _compare(judged, record, trials[-1].outcome)
            yield RuleTest(record, trials[-1], confirmed, told)


def _compare(judged: Judged, record: CandidateRecord, outcome: TrialFinished) -> tuple[bool, str]:
    if outcome.verdict is Verdict.QUALIFIED:
        return False, "started and passed every gate"
    happened = _HAPPENED.get(outcome.verdict, f"was {outcome.verdict}")
    mended = judged.records.get(record.mended_by or "")
    if mended is None:
        return True, happened
    remedy = outcome.failure.remedy if outcome.failure else None
    named = _changes(remedy) if remedy else {}
    if not named:
        return False, f"{happened}, but the log named no remedy"
    wanted = {name: after for name, (_, after) in difference(record.candidate, mended.candidate).items()}
    same = any(name in wanted and wanted[name] == value for name, value in named.items())
    words = ", ".join(f"without {name}" if value is None else f"{name}={value}" for name, value in named.items())
    return same, f"{happened}, and the log named {'the same' if same else 'another'} remedy ({words})"


def _changes(remedy: Remedy) -> dict[str, str | None]:
    changes: dict[str, str | None] = {name: as_text(value) for name, value in remedy.set_args.items()}
    changes |= dict.fromkeys(remedy.remove_args)
    changes |= {f"env:{name}": value for name, value in remedy.set_env.items()}
    return changes | {f"env:{name}": None for name in remedy.remove_env}


def by_rule(judged: Judged, *, confirmed: bool) -> Iterator[list[RuleTest]]:
    """Tests of one rule that came out alike, together: a rule prunes many candidates for one reason."""
    groups: dict[tuple[str | None, str], list[RuleTest]] = {}
    for test in rule_tests(judged):
        if test.confirmed is confirmed:
            groups.setdefault((test.record.rule, test.told), []).append(test)
    yield from groups.values()


def root_line(trial: TrialRecord) -> str | None:
    """The log line that says why."""
    return trial.outcome.failure.root_line if trial.outcome and trial.outcome.failure else None
