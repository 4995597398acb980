"""Finds every reader."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from shakedown.interchange import readers
from shakedown.interchange.base import Document, Reader


@cache
def known_readers() -> dict[str, Reader]:
    """Return all readers by name."""
    found: dict[str, Reader] = {}
    for info in pkgutil.iter_modules(readers.__path__):
        reader = importlib.import_module(f"{readers.__name__}.{info.name}").READER
        assert isinstance(reader, Reader)
        found[reader.name] = reader
    return found


def reader_of(document: Document) -> Reader | None:
    """The reader that knows this document; None: nobody does."""
    return next((reader for reader in known_readers().values() if reader.recognises(document)), None)
