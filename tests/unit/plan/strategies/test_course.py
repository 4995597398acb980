from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.plan.strategies.search_worlds import explored, launched, plan, play, without

from shakedown.domain.words import StrategyKind, Verdict
from shakedown.plan.strategies.base import Ask
from shakedown.plan.strategies.registry import strategies, strategy_for

GRID = strategy_for(StrategyKind.GRID)
TWO = {"a": ("x", "y")}


def test_every_kind_of_the_campaign_file_has_its_strategy() -> None:
    assert set(strategies()) == set(StrategyKind)


def test_grid_launches_every_arm_in_the_order_of_the_plan() -> None:
    state = plan({"a": ("0", "1", "2"), "b": ("0", "1")})
    asked, _ = play(GRID, state, lambda settings: 1.0 if settings["a"] == "0" else 0.5)
    assert explored(asked) == [arm.id for arm in state.arms]


def test_contenders_are_confirmed_forwards_and_backwards_in_turn() -> None:
    asked, _ = play(GRID, plan(TWO, launches=4), lambda _: 1.0)
    assert [ask.candidate for ask in asked] == ["x", "y", "x", "y", "y", "x", "x", "y"]


def test_an_arm_shown_to_be_worse_is_not_confirmed() -> None:
    asked, _ = play(GRID, plan({"a": ("x", "y", "z")}, launches=3), lambda s: {"x": 1.0, "y": 1.01, "z": 0.7}[s["a"]])
    launches = [ask.candidate for ask in asked]
    assert (launches.count("y"), launches.count("z")) == (3, 1)


def test_the_reference_is_confirmed_though_it_lost() -> None:
    asked, _ = play(GRID, plan(TWO, launches=3), lambda s: {"x": 1.0, "y": 2.0}[s["a"]])
    assert [ask.candidate for ask in asked].count("x") == 3


def test_an_interval_of_the_campaign_overrules_the_guess_of_the_strategy() -> None:
    state = launched(launched(plan(TWO, launches=2), "x", 1.0), "y", 0.6)
    wide = replace(state.observations["y"], interval=(0.3, 1.2))
    state = replace(state, observations={**state.observations, "y": wide})
    assert play(GRID, state, lambda _: 1.0)[0][0] == Ask("x", "confirm")
    assert "y" in [ask.candidate for ask in play(GRID, state, lambda _: 1.0)[0]]


def test_drift_is_looked_for_while_exploring() -> None:
    asked, _ = play(GRID, plan({"a": tuple(map(str, range(40)))}), lambda _: 1.0)
    gaps = [number for number, ask in enumerate(asked) if ask.purpose in ("reference", "drift")]
    assert len(gaps) == 4
    assert all(ask.candidate == "0" for ask in asked if ask.purpose == "drift")


def test_a_reference_that_fails_is_not_launched_to_see_drift() -> None:
    asked, _ = play(GRID, plan({"a": tuple(map(str, range(40)))}), lambda s: Verdict.CRASHED if s["a"] == "0" else 1.0)
    assert "drift" not in [ask.purpose for ask in asked]


def test_a_pruned_reference_is_stepped_over() -> None:
    assert GRID.ask(without(plan(TWO), "x")) == Ask("y", "explore")


@pytest.mark.parametrize("kind", list(strategies()))
def test_the_last_launches_of_a_budget_confirm_the_best_so_far(kind: StrategyKind) -> None:
    state = plan(dict.fromkeys("abcd", ("0", "1", "2")), launches=3, launches_left=10)
    asked, end = play(strategy_for(kind), state, lambda s: 1.0 + 0.1 * int(s["a"]) + 0.05 * int(s["b"]))
    best = max(observation.ratios[0] for observation in end.observations.values())
    assert len(asked) == 10
    assert max(end.order.count(arm) for arm, shown in end.observations.items() if shown.ratios[0] == best) == 3
    assert end.order.count(state.reference) == 3


def test_random_draws_another_order_for_another_seed() -> None:
    state = plan({"a": tuple(map(str, range(8))), "b": tuple(map(str, range(8)))})
    random = strategy_for(StrategyKind.RANDOM)
    orders = {tuple(explored(play(random, replace(state, seed=seed), lambda _: 1.0)[0])) for seed in range(3)}
    assert len(orders) == 3
    assert {frozenset(order) for order in orders} == {frozenset(arm.id for arm in state.arms)}


def test_random_keeps_its_order_when_an_arm_joins_the_plan() -> None:
    state = plan({"a": tuple(map(str, range(30)))})
    fewer = without(state, "7")
    random = strategy_for(StrategyKind.RANDOM)
    order = explored(play(random, state, lambda _: 1.0)[0])
    order.remove("7")
    assert explored(play(random, fewer, lambda _: 1.0)[0]) == order
