"""The course every strategy keeps: the reference, exploring, confirming. Strategies differ in how they explore."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shakedown.plan.strategies.base import Ask, SearchState
from shakedown.plan.strategies.standing import best_of, contenders, estimates, launch_counts, works

_DRIFT_EVERY = 12
"""Launches between two of the reference: drift of the machine is seen at a cost of one launch in thirteen."""


def next_launch(
    state: SearchState,
    explore: Callable[[SearchState], str | None],
    rivals: Callable[[SearchState], Sequence[str]] = contenders,
) -> Ask | None:
    """Give the next launch.

    ``explore`` names the next arm that was never launched, or None when it knows enough; ``rivals`` names the arms, in
    the order of the plan, between which the confirmation decides.

    While exploring goes on the reference is launched again now and then. When the budget allows no more than the
    confirmation of the best so far, exploring ends.
    """
    if state.launches_left is not None and state.launches_left <= 0:
        return None
    counts = launch_counts(state)
    planned = any(arm.id == state.reference for arm in state.arms)
    if planned and not counts[state.reference]:
        return Ask(state.reference, "reference")
    if state.launches_left is not None:
        last = _confirmation(state, _finalists(state))
        if last is not None and state.launches_left <= _cost(state, _finalists(state)):
            return last
    unseen = explore(state)
    if unseen is not None:
        return Ask(state.reference, "drift") if _drift_is_due(state) else Ask(unseen, "explore")
    return _confirmation(state, _with_reference(state, rivals(state)))


def _finalists(state: SearchState) -> list[str]:
    """The best so far and the reference: what a campaign that runs out of budget must still be able to compare."""
    best = best_of(estimates(state))
    return [] if best is None else _with_reference(state, [best])


def _with_reference(state: SearchState, arms: Sequence[str]) -> list[str]:
    """Add the reference if it works: every ratio, and the gain over it, rests on its launches too."""
    chosen = {*arms, state.reference}
    return [arm for arm in estimates(state) if arm in chosen]


def _cost(state: SearchState, arms: Sequence[str]) -> int:
    counts = launch_counts(state)
    return sum(max(0, state.launches - counts[arm]) for arm in arms)


def _confirmation(state: SearchState, arms: Sequence[str]) -> Ask | None:
    """Launch again whoever has fewest launches, forwards and backwards in turn: A B B A.

    Drift of the machine then falls on all contenders alike.
    """
    counts = launch_counts(state)
    short = [arm for arm in arms if counts[arm] < state.launches]
    if not short:
        return None
    fewest = min(counts[arm] for arm in short)
    waiting = [arm for arm in short if counts[arm] == fewest]
    return Ask(waiting[0] if fewest % 2 else waiting[-1], "confirm")


def _drift_is_due(state: SearchState) -> bool:
    shown = state.observations.get(state.reference)
    return shown is not None and works(shown) and state.reference not in state.order[-_DRIFT_EVERY:]
