from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from tests.unit.plan.strategies.search_worlds import explored, launched, plan, play, without

from shakedown.domain.words import StrategyKind, Verdict
from shakedown.plan.strategies.base import Arm, Ask
from shakedown.plan.strategies.registry import strategy_for

STAGED = strategy_for(StrategyKind.STAGED)
SIX = {name: tuple(f"{name}{n}" for n in range(3)) for name in "abcdef"}


def score(settings: dict[str, str]) -> float:
    return 1.0 + sum(0.05 * int(option[1]) for option in settings.values())


def test_it_finds_the_best_of_729_independent_combinations_in_thirty_launches() -> None:
    asked, end = play(STAGED, plan(SIX), lambda s: score(dict(s)))
    assert max(end.observations, key=lambda arm: end.observations[arm].ratios[0]) == "a2/b2/c2/d2/e2/f2"
    assert len(asked) <= 30


def test_every_option_is_launched_even_one_that_changes_nothing() -> None:
    asked, _ = play(STAGED, plan(SIX), lambda s: 1.0 + 0.1 * int(s["a"][1]))
    assert {option for arm in explored(asked) for option in arm.split("/")} == {o for v in SIX.values() for o in v}


def test_every_option_is_compared_alone() -> None:
    asked, _ = play(STAGED, plan(SIX), lambda s: score(dict(s)))
    launched = [arm.split("/") for arm in explored(asked)]
    alone = set()
    for one, other in itertools.combinations(launched, 2):
        differs = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
        if len(differs) == 1:
            alone.update(differs[0])
    assert alone == {option for options in SIX.values() for option in options}


@pytest.mark.parametrize("declared", [True, False])
def test_a_declared_pair_is_searched_together_though_both_changes_lose_alone(declared: bool) -> None:
    def shows(s: dict[str, str]) -> float:
        changed = (s["a"] != "a0") + (s["b"] == "b1")
        return {0: 1.0, 1: 0.9, 2: 1.2 if s["a"] == "a2" else 0.8}[changed]

    space = {"a": ("a0", "a1", "a2"), "b": ("b0", "b1"), "c": ("c0", "c1"), "d": ("d0", "d1"), "e": ("e0", "e1")}
    pairs = frozenset({frozenset({"a", "b"})}) if declared else frozenset()
    _, end = play(STAGED, plan(space, interacting=pairs), lambda s: shows(dict(s)))
    best = max(end.observations, key=lambda arm: end.observations[arm].ratios[0])
    if declared:
        assert best.startswith("a2/b1")


def test_a_change_is_taken_back_when_its_company_has_changed() -> None:
    def shows(s: dict[str, str]) -> float:
        # Chunking helps the old backend and hurts the new one, which wins.
        return {("old", "off"): 1.0, ("old", "on"): 1.2, ("new", "off"): 1.5, ("new", "on"): 1.3}[s["moe"], s["chunk"]]

    state = plan({"chunk": ("off", "on"), "moe": ("old", "new")})
    _, end = play(STAGED, state, lambda s: shows(dict(s)))
    assert "off/new" in end.observations


def test_an_option_that_is_only_planned_beside_another_is_launched_there() -> None:
    state = plan({"spec": ("off", "mtp"), "sched": ("plain", "buffer"), "kv": ("16", "8")})
    state = without(state, *(arm.id for arm in state.arms if arm.id.startswith("mtp/plain")))
    asked, _ = play(STAGED, state, lambda s: 1.0 + 0.3 * (s["spec"] == "mtp"))
    assert any(arm.startswith("mtp/buffer") for arm in explored(asked))


def test_the_dimension_that_promises_most_is_changed_first() -> None:
    state = plan({name: (f"{name}0", f"{name}1") for name in "abcdefgh"}, weights={"f": 8.0})
    asked, _ = play(STAGED, state, lambda _: 1.0)
    assert "f1" in explored(asked)[1]


def test_of_many_equal_arms_only_a_few_are_confirmed() -> None:
    asked, end = play(STAGED, plan(SIX, launches=4), lambda s: 1.0 + 0.1 * int(s["a"][1]))
    often = [arm for arm in end.observations if end.order.count(arm) >= 4]
    assert len(often) <= 6
    assert len(asked) <= len(end.arms) / 9


def test_launch_noise_does_not_mislead_it() -> None:
    counts: dict[str, int] = {}

    def shows(s: dict[str, str]) -> float:
        arm = "/".join(s.values())
        counts[arm] = counts.get(arm, 0) + 1
        wobble = ((hash_of(arm) * 7919 + counts[arm] * 104729) % 1000) / 1000 - 0.5
        return score(dict(s)) * (1 + 0.06 * wobble)

    def hash_of(arm: str) -> int:
        return sum(ord(letter) * place for place, letter in enumerate(arm, 1))

    _, end = play(STAGED, plan(SIX, launches=4), lambda s: shows(dict(s)))
    confirmed = [arm for arm in end.observations if end.order.count(arm) >= 4]
    best = max(confirmed, key=lambda arm: sum(end.observations[arm].ratios) / len(end.observations[arm].ratios))
    assert score({option[0]: option for option in best.split("/")}) >= 1.55


def test_out_of_memory_with_a_value_is_not_out_of_memory_without_its_partner() -> None:
    def shows(s: dict[str, str]) -> float | Verdict:
        if s["memory"] == "0.95" and s["chunk"] == "8192":
            return Verdict.FAILED
        return 1.0 + 0.3 * (s["memory"] == "0.95")

    state = plan(
        {"memory": ("0.85", "0.95"), "chunk": ("8192", "2048"), "kv": ("16", "8")},
        interacting=frozenset({frozenset({"memory", "chunk"})}),
    )
    _, end = play(STAGED, state, lambda s: shows(dict(s)))
    assert any(arm.startswith("0.95/2048") for arm in end.observations)


def test_a_mended_arm_is_launched_before_its_failure_is_believed() -> None:
    state = plan({"spec": ("off", "mtp"), "kv": ("16", "8"), "moe": ("p", "q")})
    results: dict[str, float | Verdict] = {arm.id: 1.0 for arm in state.arms}
    results |= {arm.id: Verdict.FAILED for arm in state.arms if arm.settings["spec"] == "mtp"}
    order: list[str] = []
    while (ask := STAGED.ask(state)) is not None:
        order.append(ask.candidate)
        state = launched(state, ask.candidate, results[ask.candidate])
        if results[ask.candidate] is Verdict.FAILED:
            failed = next(arm for arm in state.arms if arm.id == ask.candidate)
            mended = Arm(f"{failed.id}+remedy", failed.settings)
            results[mended.id] = 1.5
            state = replace(state, arms=(*state.arms, mended))
            following = STAGED.ask(state)
            assert following is not None
            assert following.candidate == mended.id
    assert any(arm.endswith("+remedy") for arm in order)


def test_a_campaign_that_varies_nothing_launches_the_remedy_of_its_only_arm() -> None:
    state = launched(plan({}), "", Verdict.FAILED)
    state = replace(state, arms=(*state.arms, Arm("remedy", {})))
    assert STAGED.ask(state) == Ask("remedy", "explore")
    assert STAGED.ask(launched(state, "remedy", 1.0)) is None
