"""Intervals that do not contain what one launch differs from the next."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.view import Judged

KIND = FindingKind.LAUNCH_VARIANCE_UNKNOWN


def find(judged: Judged) -> Iterator[Finding]:
    """Several candidates compared, and too few of them launched twice."""
    arms = judged.experiment.arms
    if len(arms) < 2 or judged.experiment.launch_variance_measured:
        return
    launches = {judged.label(candidate_id): len(arm.launches) for candidate_id, arm in arms.items()}
    yield Finding(
        kind=KIND,
        summary="The variance between launches was not measured: intervals contain the repeats within a launch only, "
        "and launches of one configuration are known to differ by several per cent.",
        evidence={"launches": launches},
        candidates=tuple(arms),
        advice="Set launches = 2 or more under [decide] where a difference of a few per cent matters.",
    )
