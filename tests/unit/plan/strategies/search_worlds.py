"""Small worlds for tests of strategies: a plan, what each combination shows, and campaigns played to the end."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from shakedown.domain.words import Verdict
from shakedown.plan.strategies.base import Arm, Ask, Observation, SearchState, Strategy

Shows = Callable[[Mapping[str, str]], float | Verdict]


def plan(dimensions: Mapping[str, tuple[str, ...]], **fields: Any) -> SearchState:
    """A state before the first launch: every combination is an arm, named by its options."""
    arms = tuple(
        Arm("/".join(choice), dict(zip(dimensions, choice, strict=True)))
        for choice in itertools.product(*dimensions.values())
    )
    reference = "/".join(options[0] for options in dimensions.values())
    return replace(SearchState(dimensions=dimensions, arms=arms, reference=reference), **fields)


def without(state: SearchState, *ids: str) -> SearchState:
    """The same plan with some combinations pruned."""
    return replace(state, arms=tuple(arm for arm in state.arms if arm.id not in ids))


def launched(state: SearchState, arm: str, result: float | Verdict) -> SearchState:
    """The state after one more launch of ``arm``."""
    before = state.observations.get(arm, Observation(Verdict.QUALIFIED)).ratios
    if isinstance(result, Verdict):
        observation = Observation(result, before)
    else:
        observation = Observation(Verdict.QUALIFIED, (*before, result))
    left = None if state.launches_left is None else state.launches_left - 1
    observations = {**state.observations, arm: observation}
    return replace(state, observations=observations, order=(*state.order, arm), launches_left=left)


def play(strategy: Strategy, state: SearchState, shows: Shows) -> tuple[list[Ask], SearchState]:
    """Play a campaign to its end: what was asked, and the last state."""
    settings = {arm.id: arm.settings for arm in state.arms}
    asked: list[Ask] = []
    while (ask := strategy.ask(state)) is not None:
        asked.append(ask)
        state = launched(state, ask.candidate, shows(settings[ask.candidate]))
    return asked, state


def explored(asked: list[Ask]) -> list[str]:
    """Arms in the order of their first launch."""
    return [ask.candidate for ask in asked if ask.purpose in ("reference", "explore")]
