"""Finds every picture: a module of this package with a top-level ``PICTURE`` object is one."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

import shakedown.report.pictures
from shakedown.report.pictures.draw import Picture


@cache
def pictures() -> list[Picture]:
    """Return all pictures in the order a reader wants them."""
    names = (info.name for info in pkgutil.iter_modules(shakedown.report.pictures.__path__))
    modules = [importlib.import_module(f"shakedown.report.pictures.{name}") for name in names]
    found = [module.PICTURE for module in modules if isinstance(getattr(module, "PICTURE", None), Picture)]
    return sorted(found, key=lambda picture: picture.order)
