"""No single best: a workload has a faster candidate than the overall winner."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.standing import workload_bests
from shakedown.judge.view import Judged
from shakedown.judge.wording import gain, listed

KIND = FindingKind.WORKLOADS_DISAGREE


def find(judged: Judged) -> Iterator[Finding]:
    """Workloads in which another candidate beats the winner, each with its best."""
    if judged.winner is None:
        return
    bests = workload_bests(judged.experiment, judged.winner, [workload.name for workload in judged.evidence.workloads])
    if not bests:
        return
    ratios = {
        workload: ratio.ratio
        for workload, best in bests.items()
        if (ratio := judged.experiment.compare(best, judged.winner, workload)) is not None
    }
    told = [f"{judged.label(best)} for {workload} ({gain(ratios[workload])})" for workload, best in bests.items()]
    yield Finding(
        kind=KIND,
        summary=f"The workloads disagree: {judged.label(judged.winner)} wins overall, but {listed(told)} is better.",
        evidence={"bests": {workload: judged.label(best) for workload, best in bests.items()}, "ratios": ratios},
        candidates=tuple(dict.fromkeys((judged.winner, *bests.values()))),
        advice="Serve these workloads with different launch lines, or weigh them (weight under [[workload]]).",
    )
