"""The server runs fewer requests at once than the load asks for, and nobody told it to."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.candidate import Candidate
from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.caps import cap_of
from shakedown.judge.settings import as_text
from shakedown.judge.view import Judged
from shakedown.judge.wording import listed

KIND = FindingKind.SILENT_CAP

_CAP_ARGS = ("max-running-requests", "max-num-seqs", "max-batch-size", "parallel")


def find(judged: Judged) -> Iterator[Finding]:
    """A cap below the concurrency of a point, read back from the settings or seen in running and queued requests.

    Candidates with one cap at the same load levels are one finding.
    """
    groups: dict[tuple[int, str, tuple[int, ...], tuple[str, ...]], list[str]] = {}
    for record in judged.evidence.candidates:
        candidate = record.candidate
        found = cap_of(judged, candidate.id)
        if found is None:
            continue
        cap, source = found
        if any(as_text(candidate.args[name]) == str(cap) for name in _CAP_ARGS if name in candidate.args):
            continue
        beyond = sorted({p.concurrency for p in judged.points(candidate.id) if p.concurrency and p.concurrency > cap})
        if beyond:
            uncapped = _not_capped(judged, candidate, beyond[-1])
            groups.setdefault((cap, source, tuple(beyond), tuple(uncapped)), []).append(candidate.id)
    for (cap, source, levels, others), candidates in groups.items():
        names = listed([judged.label(candidate_id) for candidate_id in candidates])
        crossing = f" Comparisons with {listed(others)} cross this cap." if others else ""
        yield Finding(
            kind=KIND,
            summary=(
                f"{names} {'runs' if len(candidates) == 1 else 'run'} at most {cap} requests at once; at concurrency "
                f"{listed([str(level) for level in levels])} the rest only waited.{crossing}"
            ),
            evidence={"cap": cap, "source": source, "concurrency_beyond": list(levels), "not_capped": list(others)},
            candidates=tuple(candidates),
            advice="Set the limit of running requests explicitly, equal for all candidates, or compare only up to "
            f"concurrency {cap}.",
        )


def _not_capped(judged: Judged, candidate: Candidate, level: int) -> list[str]:
    """Labels of other measured candidates that run ``level`` requests at once."""
    found = []
    for other in judged.qualified():
        cap = cap_of(judged, other.candidate.id)
        if other.candidate.id != candidate.id and judged.points(other.candidate.id) and (not cap or cap[0] >= level):
            found.append(judged.label(other.candidate.id))
    return found
