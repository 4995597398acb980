"""A change of the decode step itself that made no difference anywhere: a question, not a result."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.candidate import Candidate
from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.findings._option_pairs import Meaning, equal_options
from shakedown.judge.settings import SPECULATION_ARG, difference
from shakedown.judge.speculation import observe
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
                f"{pair.dimension} {pair.a} and {pair.b} should do different work in every step and are "
                f"{_how_equal(judged, a, b)}{pair.where()}. {answer}"
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


def _how_equal(judged: Judged, a: Candidate, b: Candidate) -> str:
    if judged.equal_at_every_point(a.id, b.id):
        return f"equal within {100 * judged.evidence.margin:g} % at every point"
    return "not to be told from each other"


def _answer(judged: Judged, a: Candidate, b: Candidate) -> tuple[str, dict[str, float | None]]:
    """What the draft counters say of it, where the change is one of speculation."""
    seen = {candidate.label: observe(judged.points(candidate.id)) for candidate in (a, b)}
    drafted = {label: one.drafted if one else None for label, one in seen.items()}
    if not any(SPECULATION_ARG.match(name) for name in difference(a, b)):
        return "Nothing measured here shows that the setting took effect.", drafted
    drafting = [label for label, one in seen.items() if one is not None and one.drafting]
    if len(drafting) == 2:
        return "Drafts were counted in both: both speculated.", drafted
    if None in seen.values():
        return "The server does not count drafts, so whether both or neither speculated is open.", drafted
    if not drafting:
        return "No drafts were counted in either: neither speculated.", drafted
    return f"Drafts were counted in {drafting[0]} only: they paid for their verification and no more.", drafted
