"""Finds every check: a module of ``shakedown.checks.ladder`` with a top-level ``CHECK`` object is one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache

import shakedown.checks.ladder
from shakedown.checks.base import LEVELS, Check
from shakedown.domain.nearest import nearest
from shakedown.domain.words import GateLevel


@cache
def checks() -> tuple[Check, ...]:
    """Return all checks in the order they run: by rung, then cheap levels first, then by name."""
    found: list[Check] = []
    for info in pkgutil.iter_modules(shakedown.checks.ladder.__path__):
        module = importlib.import_module(f"shakedown.checks.ladder.{info.name}")
        check: Check | None = getattr(module, "CHECK", None)
        if check is not None:
            found.append(check)
    return tuple(sorted(found, key=lambda check: (check.rung, LEVELS.index(check.level), check.name)))


def unknown_names(names: Iterable[str]) -> dict[str, str | None]:
    """Return the names that no check has, each with the nearest that one has."""
    known = [check.name for check in checks()]
    return {name: nearest(name, known) for name in names if name not in known}


def checks_for(level: GateLevel) -> tuple[Check, ...]:
    """Return the checks that ``level`` contains, in order."""
    return tuple(check for check in checks() if LEVELS.index(check.level) <= LEVELS.index(level))
