"""Finds every place: a module of this package with ``KIND`` and ``open_place`` is one."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from shakedown.campaign import places
from shakedown.campaign.places.afar import AfarPlace
from shakedown.campaign.places.base import OpenPlace, Place, Tell
from shakedown.campaign.places.spanning import SpanningPlace
from shakedown.domain.spec import PlaceSection
from shakedown.domain.words import PlaceKind


@cache
def openers() -> dict[PlaceKind, OpenPlace]:
    """How each kind of place is opened."""
    found: dict[PlaceKind, OpenPlace] = {}
    for info in pkgutil.iter_modules(places.__path__):
        module = importlib.import_module(f"{places.__name__}.{info.name}")
        kind: PlaceKind | None = getattr(module, "KIND", None)
        if kind is not None:
            found[kind] = module.open_place
    return found


def open_place(section: PlaceSection, tell: Tell) -> Place:
    """Open the place of a campaign file.

    Raises:
        UserError: it cannot be used, and why.
    """
    place = openers()[section.kind](section, tell)
    return SpanningPlace(place, section.nodes) if isinstance(place, AfarPlace) and section.nodes > 1 else place
