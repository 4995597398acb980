"""Two values of one choice that are equal for the purpose."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.findings._option_pairs import Meaning, equal_options
from shakedown.judge.view import Judged
from shakedown.judge.wording import interval_words, times

KIND = FindingKind.EQUIVALENT


def find(judged: Judged) -> Iterator[Finding]:
    """Options whose ratio lies within the margin, by two one-sided tests."""
    for pair in equal_options(judged, Meaning.EQUIVALENT):
        _, _, comparison = pair.equal[0]
        interval = interval_words(comparison.interval, judged.evidence.confidence)
        yield Finding(
            kind=KIND,
            summary=(
                f"{pair.dimension} {pair.a} and {pair.b} are equivalent within {100 * judged.evidence.margin:g} %"
                f"{pair.where()} ({times(comparison.ratio)}, {interval})."
            ),
            evidence={
                "dimension": pair.dimension,
                "options": [pair.a, pair.b],
                "equivalent": len(pair.equal),
                "compared": pair.compared,
                "pairs": pair.ratios(judged),
            },
            candidates=pair.candidates(),
            advice=f"Choose {pair.dimension} by other reasons and spend no more launches on it.",
        )
