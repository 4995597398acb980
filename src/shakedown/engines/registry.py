"""Finds every adapter: a module of this package with a top-level ``ENGINE`` object is one."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

import shakedown.engines
from shakedown.domain.words import EngineKind
from shakedown.engines.base import Engine


@cache
def engines() -> dict[EngineKind, Engine]:
    """Return all adapters by kind."""
    found: dict[EngineKind, Engine] = {}
    for info in pkgutil.iter_modules(shakedown.engines.__path__):
        module = importlib.import_module(f"shakedown.engines.{info.name}")
        engine: Engine | None = getattr(module, "ENGINE", None)
        if engine is not None:
            found[engine.kind] = engine
    return found


def engine_for(kind: EngineKind) -> Engine:
    """Return the adapter of ``kind``.

    Raises:
        KeyError: if no adapter of that kind is in the package.
    """
    return engines()[kind]
