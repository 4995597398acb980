"""Which candidate all ratios and accuracy gates refer to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shakedown.domain.record import CandidateRecord
from shakedown.domain.words import Verdict
from shakedown.judge.settings import asks_for_speculation


def choose_reference(
    candidates: Sequence[CandidateRecord], verdicts: Mapping[str, Verdict], first_values: str | None
) -> str | None:
    """Give the id of the reference, or None while nothing has qualified.

    It is the candidate of first values if that one qualifies. Else the qualifying candidate with the fewest lossy
    settings, plain before speculating, nearest to the first values, earliest in the plan. A lossy candidate is never
    the reference while a lossless one qualifies, not even the one of first values.

    Args:
        candidates: all candidates in the order of the plan.
        verdicts: candidate id to its verdict so far; missing is not run.
        first_values: id of the candidate that takes the first value of every dimension.
    """
    able = [record for record in candidates if verdicts.get(record.candidate.id) is Verdict.QUALIFIED]
    if not able:
        return None
    lossless_exists = any(not record.lossy for record in able)
    for record in able:
        if record.candidate.id == first_values and not (record.lossy and lossless_exists):
            return first_values
    wanted = next((record.candidate.settings for record in candidates if record.candidate.id == first_values), {})

    def rank(record: CandidateRecord) -> tuple[int, bool, int]:
        settings = record.candidate.settings
        distance = sum(settings.get(name) != label for name, label in wanted.items())
        return len(record.lossy), asks_for_speculation(record.candidate), distance

    return min(able, key=rank).candidate.id
