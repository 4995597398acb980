"""Settings that change what the model says, named."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.view import Judged
from shakedown.judge.wording import counted

KIND = FindingKind.LOSSY_SETTING


def find(judged: Judged) -> Iterator[Finding]:
    """Each lossy setting of qualified candidates, once, and whether the winner has it."""
    told: dict[str, list[str]] = {}
    for record in judged.qualified():
        for sentence in record.lossy:
            told.setdefault(sentence, []).append(record.candidate.id)
    for sentence, candidates in told.items():
        wins = judged.winner in candidates
        who = "the winner" if wins else counted(len(candidates), "qualified candidate")
        yield Finding(
            kind=KIND,
            summary=f"{sentence.rstrip('.')} ({who}).",
            evidence={"winner_has_it": wins, "labels": [judged.label(candidate_id) for candidate_id in candidates]},
            candidates=tuple(candidates),
            advice="Test your own tasks with it before it goes into production."
            if wins
            else "Prefer a lossless candidate unless this one is clearly faster.",
        )
