"""Finds every export format and makes its files."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

import shakedown.export
from shakedown.domain.errors import UserError
from shakedown.domain.result import CampaignResult
from shakedown.export.base import ExportFormat, Files
from shakedown.export.service import service_of


@cache
def formats() -> dict[str, ExportFormat]:
    """Return all formats by name."""
    found: dict[str, ExportFormat] = {}
    for info in pkgutil.iter_modules(shakedown.export.__path__):
        export = getattr(importlib.import_module(f"shakedown.export.{info.name}"), "EXPORT", None)
        if isinstance(export, ExportFormat):
            found[export.name] = export
    return found


def export(result: CampaignResult, format_: str) -> Files:
    """Return the files that put the winner of ``result`` into production.

    Raises:
        UserError: the format is unknown, nothing qualified, or the engine has no such file.
    """
    known = formats()
    if format_ not in known:
        raise UserError(f"--format {format_}: unknown; one of {', '.join(sorted(known))}")
    return known[format_].make(result, service_of(result))
