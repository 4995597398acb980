from __future__ import annotations

import builtins
from typing import Any

import pytest
from tests.unit.plan.strategies.search_worlds import explored, plan, play

from shakedown.domain.errors import UserError
from shakedown.domain.words import StrategyKind, Verdict
from shakedown.plan.strategies.registry import strategy_for

TPE = strategy_for(StrategyKind.TPE)
SPACE = {
    "memory": ("0.8", "0.7", "0.75", "0.85", "0.9"),
    "chunk": ("4096", "1024", "2048", "8192"),
    "moe": ("p", "q", "r"),
}


def test_it_comes_near_the_best_of_a_numeric_space_within_its_budget() -> None:
    def shows(s: dict[str, str]) -> float:
        return 2.0 - abs(float(s["memory"]) - 0.9) * 3 - 0.2 * (s["moe"] != "r") - abs(int(s["chunk"]) - 2048) / 10_000

    asked, end = play(TPE, plan(SPACE, launches_left=30), lambda s: shows(dict(s)))
    assert len(asked) == 30
    assert max(shows_of.ratios[0] for shows_of in end.observations.values()) >= 1.9


def test_failures_are_avoided_though_they_say_nothing_of_speed() -> None:
    asked, _ = play(TPE, plan(SPACE, launches_left=40), lambda s: Verdict.CRASHED if s["moe"] == "q" else 1.0)
    late = [arm for arm in explored(asked)[20:] if arm.endswith("/q")]
    assert len(late) <= 5


def test_without_a_budget_it_ends_when_all_is_launched() -> None:
    state = plan({"a": ("0", "1", "2"), "b": ("x", "y")})
    asked, _ = play(TPE, state, lambda _: 1.0)
    assert sorted(explored(asked)) == sorted(arm.id for arm in state.arms)


def test_without_optuna_the_user_is_told_which_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name == "optuna":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(UserError, match=r"llm-shakedown\[tpe\]"):
        TPE.ask(plan(SPACE))
