"""Staged: the strategy for launches that cost minutes.

From the reference, four stages, none of which keeps a state (``ask`` finds out where the search stands):

1. *Screening.* Every option once, one change at a time from the incumbent, a new option of each dimension in turn, the
   most promising dimension first. An option that fails alone is not launched again (``failures``).
2. *Pairs.* Combinations of dimensions declared to act together, unless they are hopeless.
3. *Undo and combine.* Whatever the surrogate expects to gain over the incumbent: often a change taken back, because
   what it was compared with has changed since. Ends when no arm is expected to gain a tenth of the margin.
4. *Duel.* Contenders again over fresh launches, A B B A (``course``).

If the reference fails, the arm most likely to work is launched until one does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from shakedown.domain.words import StrategyKind
from shakedown.plan.strategies.base import Ask, SearchState
from shakedown.plan.strategies.course import next_launch
from shakedown.plan.strategies.failures import likelihood_of_working
from shakedown.plan.strategies.space import BoolArray, FloatArray, Space, space_of
from shakedown.plan.strategies.standing import estimates
from shakedown.plan.strategies.surrogate import Belief, believe

_WORTH_A_LAUNCH = 0.1
"""Expected gain, in margins, below which exploring ends."""
_HOPELESS = 2.0
"""A combination this many standard deviations below the incumbent is not tried."""
_RESCUES_PER_OPTION = 2
"""With nothing working, exploring ends after this many launches for each option of the space."""


class Staged:
    """One change at a time, then what was learned together."""

    kind = StrategyKind.STAGED

    def ask(self, state: SearchState) -> Ask | None:
        """Give the next launch of the stage that the search stands in; None after the duel."""
        return next_launch(state, _explore)


@dataclass(frozen=True, slots=True)
class _View:
    """What the stages look at."""

    space: Space
    launched: BoolArray
    open: BoolArray
    """Never launched, and not ruled out by a failure."""
    works: FloatArray
    """Probability of working."""
    belief: Belief


def _explore(state: SearchState) -> str | None:
    space = space_of(state)
    known = estimates(state)
    seen = frozenset(state.order)
    launched = np.array([arm in seen for arm in space.ids], dtype=np.bool_)
    worked = np.array([arm in known for arm in space.ids], dtype=np.bool_)
    works = likelihood_of_working(space, worked, launched & ~worked)
    unseen = ~launched & (works > 0)
    if not unseen.any():
        return None
    if not known:
        return _rescue(space, launched, unseen, works)
    rows = np.flatnonzero(worked)
    measured = [known[space.ids[row]] for row in rows]
    belief = believe(space, rows, np.array([one.mean for one in measured]), np.array([one.error for one in measured]))
    view = _View(space, launched, unseen, works, belief)
    row = _screen(view, state)
    if row is None:
        row = _pair(view)
    if row is None:
        row = _gain(view, _WORTH_A_LAUNCH * state.margin)
    return None if row is None else space.ids[row]


def _rescue(space: Space, launched: BoolArray, unseen: BoolArray, works: FloatArray) -> str | None:
    if launched.sum() >= _RESCUES_PER_OPTION * sum(space.sizes):
        return None
    return space.ids[int(np.argmax(np.where(unseen, works, -1.0)))]


def _screen(view: _View, state: SearchState) -> int | None:
    """Take the next option never launched, of the dimension that has had least of its due, as near as can be.

    In turn, not dimension by dimension: the second option of a dimension gains more than its third, so the incumbent
    is good early.
    """
    space = view.space
    turns: list[tuple[float, float, int, int]] = []
    for column, name in enumerate(space.names):
        tried = np.unique(space.codes[view.launched, column])
        weight = state.weights.get(name, 1.0)
        due = (len(tried) - 1) / weight
        turns.extend((due, -weight, column, code) for code in range(space.sizes[column]) if code not in tried)
    for _, _, column, code in sorted(turns):
        holders = np.flatnonzero(view.open & (space.codes[:, column] == code))
        if holders.size:
            distances = space.distances(view.belief.leader)[holders]
            return int(holders[np.lexsort((-view.works[holders], distances))[0]])
    return None


def _pair(view: _View) -> int | None:
    """Take the most hopeful combination of a declared pair that differs from the incumbent in nothing else."""
    space, leader = view.space, view.belief.leader
    eligible = np.zeros(len(space.ids), dtype=np.bool_)
    for pair in space.pairs:
        changed = space.codes != space.codes[leader]
        eligible |= changed[:, list(pair)].all(axis=1) & (changed.sum(axis=1) == 2)
    reach = view.belief.mean + _HOPELESS * view.belief.deviation
    eligible &= view.open & (reach > view.belief.mean[leader])
    return int(np.argmax(np.where(eligible, reach, -np.inf))) if eligible.any() else None


def _gain(view: _View, enough: float) -> int | None:
    """Take the arm of the highest expected improvement (Jones et al. 1998), weighted by its chance of working."""
    belief = view.belief
    difference = belief.mean - belief.mean[belief.leader]
    deviation = np.maximum(belief.deviation, 1e-12)
    standard = difference / deviation
    density = np.exp(-0.5 * standard**2) / math.sqrt(2 * math.pi)
    improvement = difference * ndtr(standard) + deviation * density
    expected = np.where(view.open, improvement * view.works, -np.inf)
    row = int(np.argmax(expected))
    return row if expected[row] >= enough else None


STRATEGY = Staged()
