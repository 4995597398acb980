"""Shares of right answers: their interval, and whether two servers differ on the same questions."""

from __future__ import annotations

import math
from dataclasses import dataclass


def wilson(successes: int, trials: int, *, z: float = 1.959964) -> tuple[float, float]:
    """Wilson score interval of a proportion; 95 % with the default ``z``.

    Source: E. B. Wilson, "Probable inference", JASA 22 (1927).

    Raises:
        ValueError: if ``trials`` is not positive.
    """
    if trials < 1:
        raise ValueError("a proportion needs at least one trial")
    share = successes / trials
    centre = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return max(centre - half, 0.0), min(centre + half, 1.0)


@dataclass(frozen=True, slots=True)
class PairedAnswers:
    """Two servers on the same questions: who was right where, and how likely so lopsided a split is by chance."""

    both: int
    only_reference: int
    only_candidate: int
    neither: int
    p_worse: float
    """One-sided exact McNemar p-value of "the candidate is worse"; 1 when they never differ."""


def mcnemar(reference: list[bool], candidate: list[bool]) -> PairedAnswers:
    """Compare paired right-or-wrong answers by the exact McNemar test.

    Only the questions on which the two differ carry information; under no difference each of them falls either way
    with probability one half. Source: Q. McNemar, Psychometrika 12 (1947); the exact form is the binomial test.

    Raises:
        ValueError: if the lists differ in length.
    """
    pairs = list(zip(reference, candidate, strict=True))
    lost = pairs.count((True, False))
    won = pairs.count((False, True))
    differing = lost + won
    p_worse = sum(math.comb(differing, count) for count in range(lost, differing + 1)) / 2**differing
    return PairedAnswers(pairs.count((True, True)), lost, won, pairs.count((False, False)), p_worse)
