"""Equal pairs of one dimension, sorted into inert flags, suspicious nulls and plain equivalents, by options."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from shakedown.domain.candidate import Candidate
from shakedown.domain.result import Comparison
from shakedown.domain.words import ComparisonStatus
from shakedown.judge.settings import (
    alters_the_step,
    asks_for_speculation,
    difference,
    on_off_flags_only,
    option,
    speculation_only,
)
from shakedown.judge.speculation import observe
from shakedown.judge.view import Judged


class Meaning(Enum):
    """What it means that two options are equal; what most needs an explanation first."""

    SUSPICIOUS = "the change alters the step itself"
    INERT = "an on/off flag that changed nothing"
    EQUIVALENT = "two values of one choice"


@dataclass
class OptionPair:
    """Two options of one dimension, wherever else two candidates agree."""

    dimension: str
    a: str
    b: str
    equal: list[tuple[Candidate, Candidate, Comparison]] = field(default_factory=list)
    compared: int = 0

    def candidates(self) -> tuple[str, ...]:
        """Ids of the candidates that are equal."""
        return tuple(dict.fromkeys(item.id for a, b, _ in self.equal for item in (a, b)))

    def ratios(self, judged: Judged) -> list[dict[str, object]]:
        """The pairs with their ratios, over all points and at each."""
        return [
            {
                "a": a.label,
                "b": b.label,
                "ratio": comparison.ratio,
                "interval": comparison.interval,
                "at_points": {str(key): value for key, value in judged.experiment.point_ratios(a.id, b.id).items()},
            }
            for a, b, comparison in self.equal
        ]

    def where(self) -> str:
        """In how many comparisons it held, where there were several."""
        if self.compared == 1:
            return ""
        return f" in {len(self.equal)} of {self.compared} comparisons"


def equal_options(judged: Judged, meaning: Meaning) -> Iterator[OptionPair]:
    """Pairs of options that are equal in the given sense.

    One sentence for a pair: what most needs an explanation, where noise sorted its comparisons differently.
    """
    yield from (pair for pair, found in _sorted_pairs(judged) if found is meaning)


def _sorted_pairs(judged: Judged) -> Iterator[tuple[OptionPair, Meaning]]:
    told = {frozenset((comparison.a, comparison.b)): comparison for comparison in judged.comparisons}
    pairs: dict[tuple[str, str, str], OptionPair] = {}
    meanings: dict[tuple[str, str, str], set[Meaning]] = {}
    for first, second, name in judged.one_dimension_pairs:
        comparison = told.get(frozenset((first, second)))
        if comparison is None:
            continue
        a, b = judged.records[first].candidate, judged.records[second].candidate
        key = (name, option(a, name), option(b, name))
        if (name, key[2], key[1]) in pairs:
            key, a, b = (name, key[2], key[1]), b, a
        pair = pairs.setdefault(key, OptionPair(*key))
        pair.compared += 1
        found = _meaning(judged, a, b, comparison)
        if found is not None:
            pair.equal.append((a, b, _seen_from(a, comparison)))
            meanings.setdefault(key, set()).add(found)
    for key, found_here in meanings.items():
        yield pairs[key], next(meaning for meaning in Meaning if meaning in found_here)


def _seen_from(a: Candidate, comparison: Comparison) -> Comparison:
    """The comparison with ``a`` first: comparisons with the winner have the winner first."""
    if comparison.a == a.id:
        return comparison
    low, high = comparison.interval or (None, None)
    interval = (1 / high, 1 / low) if low and high else None
    sides = {"a": comparison.b, "b": comparison.a, "ratio": 1 / comparison.ratio, "interval": interval}
    return comparison.model_copy(update=sides)


def _both_draft(judged: Judged, a: Candidate, b: Candidate) -> bool:
    """Whether the server counted drafts for both: then no measurement of the two says anything about drafting."""
    seen = [observe(judged.points(candidate.id)) for candidate in (a, b)]
    asked = [asks_for_speculation(candidate) for candidate in (a, b)]
    return not all(asked) and all(one is not None and one.drafting for one in seen)


def _meaning(judged: Judged, a: Candidate, b: Candidate, comparison: Comparison) -> Meaning | None:
    if comparison.status not in (ComparisonStatus.EQUIVALENT, ComparisonStatus.INCONCLUSIVE):
        return None
    differing = difference(a, b)
    null = judged.equal_at_every_point(comparison.a, comparison.b)
    if alters_the_step(differing) and (null or (speculation_only(differing) and _both_draft(judged, a, b))):
        return Meaning.SUSPICIOUS
    if null and on_off_flags_only(differing):
        return Meaning.INERT
    return Meaning.EQUIVALENT if comparison.status is ComparisonStatus.EQUIVALENT else None
