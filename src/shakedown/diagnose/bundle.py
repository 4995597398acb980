"""A failure with no remedy and several varied flags: which one to drop next, and who the culprit is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MOST_DROPS = 6
"""Launches spent on finding one culprit."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Launch the candidate without this dimension (its reference option in its place)."""

    dimension: str


@dataclass(frozen=True, slots=True)
class Culprit:
    """The candidate starts without this dimension, and fails with it."""

    dimension: str


@dataclass(frozen=True, slots=True)
class NoCulprit:
    """No single dimension is to blame, and why that is believed."""

    reason: str


def next_drop(
    varied: Sequence[str], outcomes: Mapping[str, bool], *, suspects: Sequence[str] = ()
) -> Drop | Culprit | NoCulprit:
    """Say which dimension to drop next, or who the culprit is.

    Args:
        varied: the dimensions in which the failed candidate differs from the reference.
        outcomes: dimension to whether the candidate started without it, for those tried.
        suspects: dimensions to try first (those that the failure's line or signature names).
    """
    if len(varied) == 1:
        return Culprit(varied[0])  # the reference starts, this is the only difference
    started = [dimension for dimension in varied if outcomes.get(dimension)]
    if started:
        return Culprit(started[0])
    untried = [dimension for dimension in varied if dimension not in outcomes]
    if not untried:
        return NoCulprit("it fails with each dimension dropped alone: two of them fail, or one that is not varied")
    if len(outcomes) >= MOST_DROPS:
        return NoCulprit(f"stopped after {MOST_DROPS} launches without finding the culprit")
    return Drop(min(untried, key=lambda dimension: (dimension not in suspects, varied.index(dimension))))
