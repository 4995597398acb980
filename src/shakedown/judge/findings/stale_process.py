"""Another server answered: an old process, or the same one measured as two candidates."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.record import TrialRecord
from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.view import Judged

KIND = FindingKind.STALE_PROCESS

_CLOCK_TOLERANCE_S = 5.0
"""A process's start time is kept in ticks since boot, and the wall clock may be stepped meanwhile."""


def find(judged: Judged) -> Iterator[Finding]:
    """A server that was started before its launch, or that answered two launches."""
    seen: dict[tuple[str | None, int, float], TrialRecord] = {}
    for trial in judged.evidence.trials:
        ready = trial.ready
        if ready is None:
            continue
        evidence = {"trial": trial.id, "pid": ready.pid, "process_started_at": ready.process_started_at}
        first = seen.setdefault((_host(trial), ready.pid, ready.process_started_at), trial)
        if first is not trial:
            yield Finding(
                kind=KIND,
                summary=f"Process {ready.pid} answered both for {judged.label(first.candidate_id)} and for "
                f"{judged.label(trial.candidate_id)}: one server was measured twice.",
                evidence={**evidence, "first_trial": first.id},
                candidates=tuple(dict.fromkeys((first.candidate_id, trial.candidate_id))),
                advice="Stop that process and run both candidates again; the second one was not measured.",
            )
        elif trial.launch is not None and ready.process_started_at < trial.launch.at - _CLOCK_TOLERANCE_S:
            age_s = trial.launch.at - ready.process_started_at
            yield Finding(
                kind=KIND,
                summary=f"The server that answered for {judged.label(trial.candidate_id)} (process {ready.pid}) was "
                f"started {age_s:.0f} s before the launch: another server holds the port.",
                evidence={**evidence, "launched_at": trial.launch.at},
                candidates=(trial.candidate_id,),
                advice="Stop that process, or choose another port, and run the candidate again.",
            )


def _host(trial: TrialRecord) -> str | None:
    return trial.started.host if trial.started else None
