"""Grid: every arm once in the order of the plan, then the contenders again."""

from __future__ import annotations

from shakedown.domain.words import StrategyKind
from shakedown.plan.strategies.base import Ask, SearchState
from shakedown.plan.strategies.course import next_launch


class Grid:
    """Complete and slow: fit for a few dozen arms, or where the whole table is wanted."""

    kind = StrategyKind.GRID

    def ask(self, state: SearchState) -> Ask | None:
        """Give the next arm of the plan; None when every contender has its launches."""
        return next_launch(state, _first_unseen)


def _first_unseen(state: SearchState) -> str | None:
    seen = frozenset(state.order)
    return next((arm.id for arm in state.arms if arm.id not in seen), None)


STRATEGY = Grid()
