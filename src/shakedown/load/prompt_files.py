"""Reading files of prompts: one clear error with file and line, and a seeded order without end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Generic, TypeVar

from shakedown.domain.errors import UserError

T = TypeVar("T")


def read_text(word: str, path: str | None) -> str:
    """The content of a prompt file.

    Raises:
        UserError: if no path was given or it cannot be read.
    """
    if not path:
        raise UserError(f"prompts {word!r}: a file is missing, as in {word}:FILE")
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"prompts '{word}:{path}': cannot be read: {error}") from error


def json_lines(word: str, path: str | None) -> Iterator[tuple[int, dict[str, object]]]:
    """Line number and object of each line that is not empty.

    Raises:
        UserError: naming the line that is no JSON object, or the file that has none.
    """
    empty = True
    for number, line in enumerate(read_text(word, path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise UserError(f"{path}:{number}: not JSON: {error}") from error
        if not isinstance(value, dict):
            raise UserError(f"{path}:{number}: expected a JSON object, got {type(value).__name__}")
        empty = False
        yield number, value
    if empty:
        raise UserError(f"{path}: holds no prompt")


def positive_int(path: str | None, number: int, row: dict[str, object], key: str) -> int:
    """A positive whole number of a row.

    Raises:
        UserError: naming file, line and key.
    """
    value = row.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UserError(f"{path}:{number}: {key}: expected a whole number above zero, got {value!r}")
    return value


class Deck(Generic[T]):
    """Gives the cards of a file in a seeded order, each once, and then from the start again."""

    def __init__(self, cards: Sequence[T], rng: Random) -> None:
        self._cards = list(cards)
        rng.shuffle(self._cards)
        self._next = 0

    def draw(self) -> T:
        """The next card."""
        card = self._cards[self._next % len(self._cards)]
        self._next += 1
        return card
