"""What an error that no signature knows still says: its words, where in the engine it was raised, its type."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shakedown.diagnose.error_codes import code_category
from shakedown.diagnose.vocabulary import CERTAIN_TYPES, LIKELY_TYPES, PASSING, PLACES, SHAPES, TELLING
from shakedown.domain.words import Category

_INNERMOST = 4
_MODEL_FILE = re.compile(r"[^\s'\"]+(\.(?:gguf|safetensors|json|bin|pth?)\b)")
"""A checkpoint's name says how it was quantised, whatever the failure."""
_NARROW = frozenset({Category.SPECULATION, Category.QUANTIZATION, Category.COMMUNICATION, Category.JIT_TOOLCHAIN})
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line \d+(?:, in (?P<function>\S+))?')
_ENVIRONMENT_OF_THE_FILE = re.compile(r"^.*(?:site|dist)-packages/|^.*/python3\.\d+/")


def category_of(type_name: str, message: str, places: Sequence[str] = ()) -> Category | None:
    """Return what an unknown error is about, None where nothing is known of it.

    Asked in this order: an error code, a type that means one thing, words that mean one thing, the innermost places,
    words that may be named in passing, the outer places, what the type is mostly about, and the shape of the line.

    Args:
        type_name: exception class without its module, ``""`` for a line that names none.
        message: its text.
        places: files with functions of the stack, the innermost last.
    """
    inside = [_ENVIRONMENT_OF_THE_FILE.sub("/", place) for place in reversed(places)]
    return (
        code_category(message)
        or CERTAIN_TYPES.get(type_name)
        or _first(TELLING, _MODEL_FILE.sub(r"\1", message))
        or _by_place(inside[:_INNERMOST])
        or _first(PASSING, message)
        or _by_place(inside[_INNERMOST:])
        or LIKELY_TYPES.get(type_name)
        or _first(SHAPES, message)
    )


def telling_category(message: str) -> Category | None:
    """Return what the words of an error are surely about, None where they name nothing that decides it."""
    return code_category(message) or _first(TELLING, _MODEL_FILE.sub(r"\1", message))


def category_within(fallback: Category | None, message: str, places: Sequence[str]) -> Category | None:
    """Return what a catch-all's line is about: its words, the part of the engine it came from, ``fallback``."""
    inside = [_ENVIRONMENT_OF_THE_FILE.sub("/", place) for place in reversed(places)]
    place = _by_place(inside[:_INNERMOST])
    passing = _first(PASSING, message)
    return (
        telling_category(message)
        or (place if place in _NARROW else None)
        or (passing if passing is Category.BAD_ARGUMENTS else None)
        or fallback
    )


def places_in(lines: Sequence[str]) -> list[str]:
    """Return the files with functions of the frames that stand in ``lines``, in their order."""
    frames = [_FRAME.search(line) for line in lines]
    return [f"{frame['file']} {frame['function'] or ''}" for frame in frames if frame is not None]


def _by_place(places: Sequence[str]) -> Category | None:
    return next((found for place in places if (found := _first(PLACES, place)) is not None), None)


def _first(table: tuple[tuple[re.Pattern[str], Category], ...], text: str) -> Category | None:
    return next((category for pattern, category in table if pattern.search(text)), None)
