from __future__ import annotations

import numpy as np
import pytest
from tests.unit.plan.strategies.search_worlds import explored, plan, play

from shakedown.domain.words import StrategyKind, Verdict
from shakedown.plan.strategies.failures import likelihood_of_working
from shakedown.plan.strategies.registry import strategy_for
from shakedown.plan.strategies.space import space_of

STAGED = strategy_for(StrategyKind.STAGED)
CUBE = {"a": ("a0", "a1", "a2"), "b": ("b0", "b1", "b2"), "c": ("c0", "c1")}


def likelihoods(worked: list[str], failed: list[str], pairs: tuple[tuple[str, str], ...] = ()) -> dict[str, float]:
    space = space_of(plan(CUBE, interacting=frozenset(map(frozenset, pairs))))
    mask = [np.array([arm in group for arm in space.ids]) for group in (worked, failed)]
    return dict(zip(space.ids, likelihood_of_working(space, *mask), strict=True))


def test_a_value_that_failed_alone_rules_out_every_arm_that_holds_it() -> None:
    found = likelihoods(["a0/b0/c0"], ["a1/b0/c0"])
    assert all((value == 0) == arm.startswith("a1") for arm, value in found.items())


def test_a_declared_partner_set_otherwise_may_save_it() -> None:
    found = likelihoods(["a0/b0/c0"], ["a1/b0/c0"], (("a", "b"),))
    assert found["a1/b0/c1"] == 0
    assert 0 < found["a1/b1/c0"] < found["a0/b1/c0"]


def test_elimination_alone_makes_unlikely_and_does_not_rule_out() -> None:
    found = likelihoods(["a0/b0/c0", "a0/b1/c0"], ["a1/b1/c1"])
    one_left = likelihoods(["a0/b0/c0", "a0/b1/c1"], ["a1/b1/c0"])
    assert found["a1/b0/c0"] > 0
    assert one_left["a1/b0/c0"] > 0
    assert one_left["a1/b0/c0"] < one_left["a2/b0/c0"]


def test_several_suspects_share_the_blame_and_none_is_ruled_out() -> None:
    found = likelihoods(["a0/b0/c0"], ["a1/b1/c0"])
    assert 0 < found["a1/b0/c0"] < found["a2/b0/c0"]
    assert found["a1/b0/c0"] == pytest.approx(found["a0/b1/c0"])


def test_a_value_that_worked_elsewhere_is_cleared() -> None:
    found = likelihoods(["a0/b0/c0", "a1/b0/c0"], ["a1/b1/c0"])
    assert found["a1/b0/c1"] == pytest.approx(found["a0/b0/c1"])
    assert found["a0/b1/c1"] == 0


def test_a_declared_pair_of_values_that_work_apart_is_guilty_together() -> None:
    worked = ["a0/b0/c0", "a1/b0/c0", "a0/b1/c0"]
    assert likelihoods(worked, ["a1/b1/c0"], (("a", "b"),))["a1/b1/c1"] == 0
    assert likelihoods(worked, ["a1/b1/c0"])["a1/b1/c1"] > 0


@pytest.mark.parametrize("verdict", [Verdict.FAILED, Verdict.CRASHED, Verdict.HUNG, Verdict.GARBAGE])
def test_staged_learns_from_a_failure_whatever_its_kind(verdict: Verdict) -> None:
    asked, _ = play(STAGED, plan(CUBE), lambda s: verdict if s["a"] == "a1" else 1.0 + 0.1 * int(s["b"][1]))
    failed = [arm for arm in explored(asked) if arm.startswith("a1")]
    assert 1 <= len(failed) <= 2
    assert sum("a1" in arm for arm in explored(asked)) < 6


def test_staged_finds_what_works_when_the_reference_does_not() -> None:
    asked, end = play(STAGED, plan(CUBE), lambda s: Verdict.FAILED if s["b"] == "b0" else 1.0 + 0.2 * (s["a"] == "a2"))
    best = max(end.observations, key=lambda arm: sum(end.observations[arm].ratios))
    assert best.startswith("a2")
    assert sum(arm.split("/")[1] == "b0" for arm in explored(asked)) <= 3


def test_staged_gives_up_on_a_space_where_nothing_works_at_all() -> None:
    wide = {name: tuple(f"{name}{n}" for n in range(4)) for name in "abcd"}
    asked, _ = play(STAGED, plan(wide), lambda _: Verdict.FAILED)
    assert len(asked) == 2 * 16
    assert {option for arm in explored(asked) for option in arm.split("/")} == {o for v in wide.values() for o in v}
