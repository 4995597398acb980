"""What a report format is. A module of this package with a top-level ``FORMAT`` is one; it is found by itself."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

import shakedown.report
from shakedown.domain.result import CampaignResult


@dataclass(frozen=True, slots=True)
class Document:
    """A finished report: its bytes, and the pictures it refers to by relative name."""

    content: bytes
    pictures: Mapping[str, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str, pictures: Mapping[str, bytes] | None = None) -> Document:
        """A document of text, in UTF-8."""
        return cls(text.encode(), pictures or {})


@dataclass(frozen=True, slots=True)
class Format:
    """One report format. ``with_pictures`` is False where the document has no folder of its own to keep them in."""

    name: str
    suffix: str
    make: Callable[[CampaignResult, bool], Document]


@cache
def formats() -> dict[str, Format]:
    """Return all formats by name."""
    found: dict[str, Format] = {}
    for info in pkgutil.iter_modules(shakedown.report.__path__):
        module = importlib.import_module(f"shakedown.report.{info.name}")
        form = getattr(module, "FORMAT", None)
        if isinstance(form, Format):
            found[form.name] = form
    return found
