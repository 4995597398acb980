"""Staged: the strategy for launches that cost minutes.

From the reference, five stages. None keeps a state: ``ask`` finds out where the search stands.

1. *Scout.* As many launches as there are dimensions, each with options never seen, several at once as far as failures
   allow. One change at a time loses to random draws here: where few dimensions matter it wastes launches on the others.
2. *One at a time.* Every option beside the incumbent, changed alone, the most promising first. This is what
   comparisons by dimension rest on. An option that fails alone is not launched again (``failures``).
3. *Pairs.* Combinations of dimensions declared to act together, unless they are hopeless.
4. *Undo and combine.* Whatever may still beat the incumbent by more than the margin: often a change taken back, because
   what it was compared with has changed since.
5. *Duel.* The few best again over fresh launches, A B B A (``course``).

If the reference fails, the arm most likely to work is launched until one does. An arm that mends a failed one (the same
options, with a remedy) is launched before anything is concluded from the failure.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from shakedown.domain.words import StrategyKind
from shakedown.plan.strategies import stages
from shakedown.plan.strategies.base import Ask, SearchState
from shakedown.plan.strategies.course import next_launch
from shakedown.plan.strategies.failures import likelihood_of_working
from shakedown.plan.strategies.space import space_of
from shakedown.plan.strategies.standing import ONE_SIDED_95, estimates
from shakedown.plan.strategies.surrogate import Belief, believe

_DUELLISTS = 4
"""At most so many arms are confirmed at a time: of many equal ones it does not matter which wins."""
_RESCUES_PER_OPTION = 2
"""With nothing working, exploring ends after so many launches for each option of the space."""


class Staged:
    """Learns options instead of combinations, and from failures."""

    kind = StrategyKind.STAGED

    def ask(self, state: SearchState) -> Ask | None:
        """Give the next launch of the stage that the search stands in; None after the duel."""
        knowledge = _Knowledge(state)
        return next_launch(state, lambda _: _explore(knowledge), lambda _: _duellists(knowledge))


class _Knowledge:
    """What is known at one ask; the belief is the costly part, and exploring and the duel need the same one."""

    def __init__(self, state: SearchState) -> None:
        self.state = state
        self.space = space_of(state)
        self.known = estimates(state)

    @cached_property
    def belief(self) -> Belief:
        """A guess at every arm; only where some arm works."""
        return believe(self.space, self.known)


def _explore(knowledge: _Knowledge) -> str | None:
    space, known = knowledge.space, knowledge.known
    seen = frozenset(knowledge.state.order)
    launched = np.array([arm in seen for arm in space.ids], dtype=np.bool_)
    worked = np.array([arm in known for arm in space.ids], dtype=np.bool_)
    failed = launched & ~worked
    mend = stages.mends(space, failed, ~launched)
    if mend is not None:
        return space.ids[mend]
    works = likelihood_of_working(space, worked, failed)
    unseen = ~launched & (works > 0)
    if not unseen.any():
        return None
    if not worked.any():
        tired = launched.sum() >= _RESCUES_PER_OPTION * sum(space.sizes)
        return None if tired else space.ids[int(np.argmax(np.where(unseen, works, -1.0)))]
    view = stages.View(space, launched, unseen, works, knowledge.belief)
    row = stages.scout(view)
    if row is None:
        row = stages.one_at_a_time(view)
    if row is None:
        row = stages.pair(view)
    if row is None:
        row = stages.gain(view, margin=knowledge.state.margin)
    return None if row is None else space.ids[row]


def _duellists(knowledge: _Knowledge) -> list[str]:
    """The leaders, and the few arms of highest belief that may yet be better by more than the margin, in plan order.

    An arm that cannot be better by more than the margin is no reason to launch on: whichever of the two is chosen, no
    more than the margin is lost. Leaders are the arm of highest belief and that of highest mean.
    """
    space, known = knowledge.space, knowledge.known
    if not known:
        return []
    belief = knowledge.belief
    bar = belief.mean[belief.leader] + math.log1p(knowledge.state.margin)
    reach = belief.mean + ONE_SIDED_95 * belief.deviation
    able = [row for row, arm in enumerate(space.ids) if arm in known and reach[row] > bar]
    chosen = set(sorted(able, key=lambda row: -belief.mean[row])[:_DUELLISTS])
    chosen |= {belief.leader, space.ids.index(max(known, key=lambda arm: known[arm].mean))}
    return [space.ids[row] for row in sorted(chosen)]


STRATEGY = Staged()
