"""The candidate of first values is not the reference."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind, Verdict
from shakedown.judge.view import Judged

KIND = FindingKind.REFERENCE_CHANGED


def find(judged: Judged) -> Iterator[Finding]:
    """Another reference than the first values, and why."""
    wanted, reference = judged.evidence.first_values, judged.reference
    if wanted is None or reference is None or wanted == reference or wanted not in judged.decisions:
        return
    decision = judged.decisions[wanted]
    if decision.verdict is Verdict.QUALIFIED and judged.records[wanted].lossy:
        why = f"it is lossy ({judged.records[wanted].lossy[0].rstrip('.')}) and a lossless candidate qualified"
    elif decision.verdict is Verdict.QUALIFIED:
        why = "it has no measurements"
    else:
        why = f"it is {decision.verdict.replace('_', ' ')} ({decision.reason.rstrip('.')})"
    yield Finding(
        kind=KIND,
        summary=f"{judged.label(reference)} is the reference instead of {judged.label(wanted)}: {why}.",
        evidence={"wanted": wanted, "reference": reference, "verdict": decision.verdict.value},
        candidates=(reference, wanted),
        advice="Put values that qualify and lose nothing first in each [[vary]] to choose the reference yourself.",
    )
