"""A flag that was accepted and changed nothing."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.findings._option_pairs import Meaning, equal_options
from shakedown.judge.view import Judged

KIND = FindingKind.INERT_FLAG


def find(judged: Judged) -> Iterator[Finding]:
    """An on/off flag equal within the margin at every point, or a setting that a rule says has nothing to act on."""
    for pair in equal_options(judged, Meaning.INERT):
        yield Finding(
            kind=KIND,
            summary=(
                f"{pair.dimension} was accepted and changed nothing: {pair.a} and {pair.b} are equal within "
                f"{100 * judged.evidence.margin:g} %{pair.where()}, point by point."
            ),
            evidence={"dimension": pair.dimension, "options": [pair.a, pair.b], "pairs": pair.ratios(judged)},
            candidates=pair.candidates(),
            advice=f"Leave {pair.dimension} out of the launch line, or find in the log why it did not act.",
        )
    told: dict[str, list[str]] = {}
    for record in judged.evidence.candidates:
        for sentence in record.inert:
            told.setdefault(sentence, []).append(record.candidate.id)
    for sentence, candidates in told.items():
        yield Finding(
            kind=KIND,
            summary=sentence,
            evidence={"source": "rule"},
            candidates=tuple(candidates),
            advice="Leave the setting out: it has nothing to act on here.",
        )
