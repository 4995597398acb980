"""Random: every arm once in a seeded order, then the contenders again. The baseline any other strategy must beat."""

from __future__ import annotations

import hashlib

from shakedown.domain.words import StrategyKind
from shakedown.plan.strategies.base import Ask, SearchState
from shakedown.plan.strategies.course import next_launch


class RandomSearch:
    """Assumes nothing about the space. Two published tuners were found to be no better than this."""

    kind = StrategyKind.RANDOM

    def ask(self, state: SearchState) -> Ask | None:
        """Give the next arm of the seeded order; None when every contender has its launches."""
        return next_launch(state, _next_drawn)


def _next_drawn(state: SearchState) -> str | None:
    """The order is that of a keyed hash, so it stays the same when a derived arm joins the plan."""
    seen = frozenset(state.order)
    unseen = [arm.id for arm in state.arms if arm.id not in seen]
    return min(unseen, key=lambda arm: hashlib.sha256(f"{state.seed}:{arm}".encode()).digest(), default=None)


STRATEGY = RandomSearch()
