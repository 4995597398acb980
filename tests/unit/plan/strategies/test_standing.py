from __future__ import annotations

import math

import pytest
from tests.unit.plan.strategies.search_worlds import launched, plan

from shakedown.domain.words import Verdict
from shakedown.plan.strategies.base import SearchState
from shakedown.plan.strategies.standing import best_of, contenders, estimates, launch_spread


def told(results: dict[str, list[float | Verdict]], margin: float = 0.02) -> SearchState:
    state = plan({"a": tuple(results)}, margin=margin)
    for arm, values in results.items():
        for value in values:
            state = launched(state, arm, value)
    return state


def test_spread_is_pooled_over_arms_and_begins_at_the_margin() -> None:
    assert launch_spread(told({"x": [1.0], "y": [1.3]})) == pytest.approx(0.02)
    steady = told({arm: [1.0] * 20 for arm in "xyz"})
    wild = told({arm: [math.exp(0.1), math.exp(-0.1)] * 20 for arm in "xyz"})
    assert launch_spread(steady) < 0.005
    assert launch_spread(wild) == pytest.approx(0.1, rel=0.05)


def test_an_arm_whose_last_launch_failed_has_no_standing() -> None:
    state = told({"x": [1.0], "y": [2.0, Verdict.CRASHED]})
    assert list(estimates(state)) == ["x"]


def test_one_lucky_launch_does_not_lead_over_many_good_ones() -> None:
    state = told({"x": [1.10, 1.11, 1.09, 1.10], "y": [1.101]})
    assert best_of(estimates(state)) == "x"
    assert contenders(state) == ["x", "y"]


def test_nobody_leads_before_something_works() -> None:
    assert best_of(estimates(told({"x": [Verdict.FAILED]}))) is None
    assert contenders(told({"x": [Verdict.FAILED]})) == []
