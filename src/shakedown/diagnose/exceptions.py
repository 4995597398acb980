"""What an error that no signature knows still says: its words, where in the engine it was raised, its type."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shakedown.diagnose.engine_parts import DRAFT_NAMED, DRAFTING, PLACES, QUANTISED_LOADING
from shakedown.diagnose.error_codes import code_category
from shakedown.diagnose.vocabulary import (
    ASSERTED,
    CERTAIN_TYPES,
    LIKELY_TYPES,
    NETWORK_TYPES,
    PASSING,
    SHAPES,
    TELLING,
)
from shakedown.domain.words import Category

_INNERMOST = 4
_SOURCE_FILE = re.compile(r"\.(?:cuh?|cpp|cc|hpp|h)\b")
_WORD = re.compile(r"[^\s'\"]+")
_MODEL_FILE = re.compile(r"\.(?:gguf|safetensors|json|bin|pth?)\b")
_MODEL_NAME = re.compile(r"[A-Za-z]-?\d|\w-\w")
_NOT_REBUILT = re.compile(r"\b(?P<type>\w{1,80})\.__init__\(\) missing \d")
"""A type whose exceptions cannot be passed between processes: its own name says what was raised."""
_LONGEST_AROUND = 400
"""Longer lines are dumps of all settings: they name everything."""
_ALSO_OF_DRAFTS = frozenset(
    {
        Category.MODEL_FILES,
        Category.QUANTIZATION,
        Category.KERNEL_FAULT,
        Category.BAD_ARGUMENTS,
        Category.ENVIRONMENT_MISMATCH,
        None,
    }
)
_NARROW = frozenset({Category.SPECULATION, Category.QUANTIZATION, Category.COMMUNICATION, Category.JIT_TOOLCHAIN})
_INSTEAD_OF_FAULTS = _NARROW | {Category.HOST_OUT_OF_MEMORY}
"""What a CUDA error is about where that part of an engine met it."""
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line \d+(?:, in (?P<function>\S+))?')
_ENVIRONMENT_OF_THE_FILE = re.compile(r"^.*(?:site|dist)-packages/|^.*/python3\.\d+/")


def category_of(
    type_name: str, message: str, places: Sequence[str] = (), around: Sequence[str] = ()
) -> Category | None:
    """Return what an unknown error is about, None where nothing is known of it.

    Asked in this order: an error code, a type that means one thing, words that mean one thing, the innermost places,
    words that may be named in passing, the outer places, what the type is mostly about, and the shape of the line.
    What may be a draft model's as well as the target's is the draft's where the stack or the lines around say so.

    Args:
        type_name: exception class without its module, ``""`` for a line that names none.
        message: its text.
        places: files with functions of the stack, the innermost last.
        around: the lines next to it in the log.
    """
    if type_name in NETWORK_TYPES:
        return Category.NETWORK_PROXY
    not_rebuilt = _NOT_REBUILT.match(message)
    sure = (CERTAIN_TYPES.get(not_rebuilt["type"]) if not_rebuilt else None) or (
        code_category(message) or CERTAIN_TYPES.get(type_name)
    )
    if sure is not None and sure not in _ALSO_OF_DRAFTS:
        return sure
    category = sure or _by_words_and_places(type_name, message, _innermost_first(places))
    return of_what_was_loaded(category, places, () if sure else around)


def of_what_was_loaded(category: Category | None, places: Sequence[str], around: Sequence[str]) -> Category | None:
    """Return whose failure it was, of what every model can fail by: the draft's, or one quantised while loading."""
    inside = _innermost_first(places)
    if category in _ALSO_OF_DRAFTS and _is_drafting(inside, around):
        return Category.SPECULATION
    if category is Category.MODEL_FILES and any(map(QUANTISED_LOADING.search, (*inside, *around))):
        return Category.QUANTIZATION
    return category


def _innermost_first(places: Sequence[str]) -> list[str]:
    return [_ENVIRONMENT_OF_THE_FILE.sub("/", place) for place in reversed(places)]


def _by_words_and_places(type_name: str, message: str, inside: Sequence[str]) -> Category | None:
    words = _first(TELLING, _without_file_names(message))
    innermost = _by_place(inside[:_INNERMOST])
    if words is Category.KERNEL_FAULT and innermost in _INSTEAD_OF_FAULTS:
        return innermost
    asserted = _first(ASSERTED, message) if message.startswith("assert ") else None
    return (
        words
        or asserted
        or innermost
        or _first(PASSING, message)
        or _by_place(inside[_INNERMOST:])
        or LIKELY_TYPES.get(type_name)
        or _first(SHAPES, message)
    )


def _without_file_names(message: str) -> str:
    """Shorten the names of files and models, which tell nothing of the failure.

    A checkpoint's name says how it was quantised, a source file's folders for which GPUs it was written.
    """
    return _WORD.sub(lambda word: _ending(word[0]), message)


def _ending(word: str) -> str:
    if "/" in word and _SOURCE_FILE.search(word):
        return "/".join(word.split("/")[-2:])
    endings = list(_MODEL_FILE.finditer(word))
    folder, _, name = word.rstrip("/").rpartition("/")
    if folder and not endings and "://" not in word and _MODEL_NAME.search(name):
        return f"{folder}/"
    return word[endings[-1].start() :] if endings and endings[-1].start() else word


def _is_drafting(inside: Sequence[str], around: Sequence[str]) -> bool:
    """Whether the innermost frame of the drafting code is one that runs the draft, or a line nearby names one."""
    frame = next((place for place in inside if DRAFTING.search(place)), None)
    if frame is not None:
        return re.search("target|verify", frame.rpartition(" ")[2]) is None
    return any(len(line) < _LONGEST_AROUND and DRAFT_NAMED.search(line) for line in around)


def telling_category(message: str) -> Category | None:
    """Return what the words of an error are surely about, None where they name nothing that decides it."""
    return code_category(message) or _first(TELLING, _without_file_names(message))


def category_within(fallback: Category | None, message: str, places: Sequence[str]) -> Category | None:
    """Return what a catch-all's line is about: its words, the part of the engine it came from, ``fallback``."""
    inside = _innermost_first(places)
    place = _by_place(inside[:_INNERMOST])
    passing = _first(PASSING, message)
    return (
        telling_category(message)
        or (place if place in _NARROW else None)
        or (passing if passing is Category.BAD_ARGUMENTS or fallback is Category.BAD_ARGUMENTS else None)
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
