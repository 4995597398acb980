"""The verdict of a candidate over all of its launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shakedown.domain.failure import Failure
from shakedown.domain.record import CandidateRecord, TrialRecord
from shakedown.domain.words import Verdict

_WRONG_WHILE_SERVING = (Verdict.GARBAGE, Verdict.INACCURATE, Verdict.CRASHED, Verdict.HUNG)
"""One such launch is enough: a candidate that fails once in a few launches does not go into production."""


class Decision(NamedTuple):
    """What the campaign says of a candidate."""

    verdict: Verdict
    reason: str
    failure: Failure | None


def decide_verdict(record: CandidateRecord, trials: Sequence[TrialRecord]) -> Decision:
    """Combine a candidate's launches, in the order they began.

    A pruned candidate stays pruned, launched all the same or not: the launch tests the rule. Garbage, inaccuracy, a
    crash or a hang in any launch decides. A launch that did not start is forgiven when a later one qualified (the port
    was taken, the GPU still busy), and said. What was learnt of a failure afterwards (``record.reason``: why a remedy
    was refused, who is to blame) is said with it.
    """
    finished = [trial for trial in trials if trial.state == "finished" and trial.outcome is not None]
    if not finished:
        return Decision(record.verdict, record.reason, None)
    if record.verdict is Verdict.PRUNED:
        proof = finished[-1].outcome
        return Decision(record.verdict, record.reason, proof.failure if proof else None)
    deciding = next((trial for trial in reversed(finished) if _verdict(trial) in _WRONG_WHILE_SERVING), finished[-1])
    outcome = deciding.outcome
    assert outcome is not None
    others = [trial for trial in finished if _verdict(trial) is not outcome.verdict]
    reason = outcome.reason
    if others:
        same = len(finished) - len(others)
        told = "; ".join(f"launch {trial.id}: {_reason(trial)}" for trial in others)
        reason = f"{reason} ({same} of {len(finished)} launches; {told})"
    if record.reason and outcome.verdict is not Verdict.QUALIFIED:
        reason = f"{reason}; {record.reason}"
    return Decision(outcome.verdict, reason, outcome.failure)


def qualified_trials(trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Finished launches whose measurements count."""
    return [trial for trial in trials if trial.state == "finished" and _verdict(trial) is Verdict.QUALIFIED]


def _verdict(trial: TrialRecord) -> Verdict | None:
    return trial.outcome.verdict if trial.outcome else None


def _reason(trial: TrialRecord) -> str:
    return f"{trial.outcome.verdict}: {trial.outcome.reason}" if trial.outcome else ""
