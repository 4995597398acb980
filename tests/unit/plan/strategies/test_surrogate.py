from __future__ import annotations

import math

import numpy as np
import pytest
from tests.unit.plan.strategies.search_worlds import plan

from shakedown.plan.strategies.space import space_of
from shakedown.plan.strategies.standing import Estimate
from shakedown.plan.strategies.surrogate import Belief, believe

GRID = {"a": ("a0", "a1", "a2"), "b": ("b0", "b1", "b2"), "c": ("c0", "c1")}


def belief(known: dict[str, float], error: float = 0.001, **fields: object) -> tuple[dict[str, int], Belief]:
    space = space_of(plan(GRID, **fields))
    estimates = {arm: Estimate(known[arm], error, known[arm]) for arm in space.ids if arm in known}
    return {arm: row for row, arm in enumerate(space.ids)}, believe(space, estimates)


def test_independent_effects_add_up_in_an_arm_never_launched() -> None:
    rows, found = belief({"a0/b0/c0": 0.0, "a1/b0/c0": 0.2, "a0/b1/c0": 0.1, "a1/b0/c1": 0.2, "a2/b1/c0": 0.1})
    assert found.mean[rows["a1/b1/c0"]] == pytest.approx(0.3, abs=0.1)
    assert found.mean[rows["a1/b1/c0"]] >= max(found.mean) - 0.01


def test_the_leader_is_a_launched_arm_and_differs_from_itself_in_nothing() -> None:
    rows, found = belief({"a0/b0/c0": 0.0, "a1/b0/c0": 0.2})
    assert found.leader == rows["a1/b0/c0"]
    assert found.deviation[found.leader] == pytest.approx(0.0, abs=1e-6)


def test_doubt_grows_with_the_options_never_seen() -> None:
    rows, found = belief({"a0/b0/c0": 0.0, "a1/b0/c0": -0.2})
    near, far = found.deviation[rows["a0/b1/c0"]], found.deviation[rows["a2/b2/c1"]]
    assert 0 < near < far


def test_more_launches_leave_less_doubt_between_two_arms() -> None:
    known = {"a0/b0/c0": 0.0, "a1/b0/c0": -0.01}
    rows, once = belief(known, error=0.03)
    _, often = belief(known, error=0.01)
    assert often.deviation[rows["a1/b0/c0"]] < once.deviation[rows["a1/b0/c0"]]


def test_a_declared_pair_leaves_its_combination_open() -> None:
    known = {"a0/b0/c0": 0.0, "a1/b0/c0": -0.1, "a0/b1/c0": -0.1}
    rows, apart = belief(known)
    _, together = belief(known, interacting=frozenset({frozenset({"a", "b"})}))
    assert together.deviation[rows["a1/b1/c0"]] > apart.deviation[rows["a1/b1/c0"]]


def test_a_dimension_that_promises_more_is_believed_to_vary_more() -> None:
    rows, found = belief({"a0/b0/c0": 0.0}, weights={"b": 5.0})
    assert found.deviation[rows["a0/b1/c0"]] > found.deviation[rows["a1/b0/c0"]]


def test_numbers_near_each_other_are_believed_alike_and_words_are_not() -> None:
    def doubt(labels: tuple[str, ...]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        space = space_of(plan({"n": labels}))
        known = {labels[0]: 0.0, labels[3]: 0.2}
        return believe(space, {arm: Estimate(value, 0.001, value) for arm, value in known.items()}).mean

    numbers, words = doubt(("1", "2", "4", "8", "16")), doubt(("p", "q", "r", "s", "t"))
    assert numbers[2] > numbers[1] + 0.01
    assert words[2] == pytest.approx(words[1])
    assert math.isclose(words[4], words[1], abs_tol=1e-9)
