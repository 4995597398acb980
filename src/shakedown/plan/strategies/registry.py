"""Finds every strategy: a module of this package with a top-level ``STRATEGY`` object is one."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

import shakedown.plan.strategies
from shakedown.domain.words import StrategyKind
from shakedown.plan.strategies.base import Strategy


@cache
def strategies() -> dict[StrategyKind, Strategy]:
    """Return all strategies by kind."""
    found: dict[StrategyKind, Strategy] = {}
    for info in pkgutil.iter_modules(shakedown.plan.strategies.__path__):
        module = importlib.import_module(f"shakedown.plan.strategies.{info.name}")
        strategy: Strategy | None = getattr(module, "STRATEGY", None)
        if strategy is not None:
            found[strategy.kind] = strategy
    return found


def strategy_for(kind: StrategyKind) -> Strategy:
    """Return the strategy of ``kind``.

    Raises:
        KeyError: if no strategy of that kind is in the package.
    """
    return strategies()[kind]
