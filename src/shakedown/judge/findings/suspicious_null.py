"""A change of the decode step itself that made no difference anywhere: a question, not a result."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.candidate import Candidate
from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.findings._option_pairs import Meaning, equal_options
from shakedown.judge.settings import SPECULATION_ARG, difference
from shakedown.judge.speculation import draft_totals
from shakedown.judge.view import Judged

KIND = FindingKind.SUSPICIOUS_NULL


def find(judged: Judged) -> Iterator[Finding]:
    """Speculation, parallelism or quantisation changed, and every point equal within the margin."""
    for pair in equal_options(judged, Meaning.SUSPICIOUS):
        a, b, _ = pair.equal[0]
        answer, drafted = _answer(judged, a, b)
        yield Finding(
            kind=KIND,
            summary=(
                f"{pair.dimension} {pair.a} and {pair.b} do different work in every step and are equal within "
                f"{100 * judged.evidence.margin:g} % at every point{pair.where()}. {answer}"
            ),
            evidence={
                "dimension": pair.dimension,
                "options": [pair.a, pair.b],
                "pairs": pair.ratios(judged),
                "drafted_tokens": drafted,
            },
            candidates=pair.candidates(),
            advice=(
                "Do not read this as 'no gain'. Make sure that the setting is really off in one and on in the other "
                "(effective settings, counters, another process), then measure both again."
            ),
        )


def _answer(judged: Judged, a: Candidate, b: Candidate) -> tuple[str, dict[str, float | None]]:
    """What the draft counters say of it, where the change is one of speculation."""
    totals = {candidate.label: draft_totals(judged.points(candidate.id)) for candidate in (a, b)}
    drafted = {label: total.drafted if total else None for label, total in totals.items()}
    if not any(SPECULATION_ARG.match(name) for name in difference(a, b)):
        return "Nothing measured here shows that the setting took effect.", drafted
    if any(value is None for value in drafted.values()):
        return "The server has no draft counters to tell whether both or neither speculated.", drafted
    drafting = [label for label, value in drafted.items() if value]
    if len(drafting) == 2:
        return "The counters show drafts in both: both speculated.", drafted
    if not drafting:
        return "The counters show no drafts in either: neither speculated.", drafted
    return (
        f"The counters show drafts in {drafting[0]} only: its drafts paid for their verification and no more.",
        drafted,
    )
