"""Makes natural text without end from the passages in ``corpus``: prose, code and chat, each unlike the other.

A passage holds choices ``⟦one|another⟧`` and slots ``⟨name⟩``; drawing both anew and shuffling passages gives text
that is coherent within a passage and does not come twice. Real text matters here: speculation guesses what is likely,
and what is likely differs between prose, code and random tokens.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Literal

Genre = Literal["prose", "code", "chat"]
GENRES: tuple[Genre, ...] = ("prose", "code", "chat")

_CHOICE = re.compile(r"⟦([^⟦⟧]*)⟧")
_SLOT = re.compile(r"⟨(\w+)⟩")


@cache
def passages(genre: Genre) -> tuple[str, ...]:
    """The passages of a genre, in the file's order."""
    text = resources.files("shakedown.load").joinpath("corpus", f"{genre}.txt").read_text(encoding="utf-8")
    return tuple(part.strip("\n") for part in text.split("\n%%\n"))


@cache
def words() -> dict[str, tuple[str, ...]]:
    """What the slots may hold, by the slot's name."""
    text = resources.files("shakedown.load").joinpath("corpus", "words.txt").read_text(encoding="utf-8")
    rows = (line.partition(":") for line in text.splitlines() if line)
    return {name.strip(): tuple(value.strip() for value in values.split(",")) for name, _, values in rows}


def fill(passage: str, rng: random.Random) -> str:
    """Draw every choice, and every slot once for the whole passage: a name stays the same person within it."""
    text = _CHOICE.sub(lambda match: rng.choice(match[1].split("|")), passage)
    drawn: dict[str, str] = {}

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name not in drawn:
            drawn[name] = str(rng.randint(2, 980)) if name.startswith("number") else _draw(name, rng)
        return drawn[name]

    return _SLOT.sub(value, text)


def _draw(name: str, rng: random.Random) -> str:
    return rng.choice(words()[name.rstrip("0123456789")])


_OPENINGS: dict[Genre, str] = {
    "prose": "{mark}. Notes of {name}, {place}, {month}.\n\n",
    "code": "# {mark}: working copy of {name}, branch {place}-{month}\n\n",
    "chat": "[{mark}] Conversation with {name}, {place}, {month}\n\n",
}


def natural_text(genre: Genre, rng: random.Random) -> Iterator[str]:
    """Yield pieces of one text for ever; the first is a heading that no other text has.

    The heading comes first so that a prefix cache cannot help one prompt with another's work.
    """
    mark = f"{rng.getrandbits(48):012x}"
    drawn = {slot: _draw(slot, rng) for slot in ("name", "place", "month")}
    yield _OPENINGS[genre].format(mark=mark, **drawn)
    order = list(passages(genre))
    while True:
        rng.shuffle(order)
        for passage in order:
            yield fill(passage, rng) + "\n\n"


def text_of_length(pieces: Iterator[str], characters: int) -> str:
    """Join pieces until there are at least ``characters``."""
    out: list[str] = []
    size = 0
    while size < characters:
        out.append(next(pieces))
        size += len(out[-1])
    return "".join(out)
