"""The project's own texts: what probes read and what samples begin with. Nothing here depends on a model."""

from __future__ import annotations

import random
from functools import cache
from importlib.resources import files

OPENINGS = (
    "The old lighthouse keeper opened the door and",
    "In chemistry, a catalyst is a substance that",
    "Dear Ms Okafor,\n\nthank you for your letter of",
    "def median(values):\n    ",
    "The three largest cities of the country are",
    "To bake bread you need flour, water and",
    "During the match on Saturday the visitors",
    "A good test for a bridge is to",
    "The first law of thermodynamics states",
    "Once the rain had stopped, the children",
    "Prices of copper rose last week because",
    "Question: Why is the sky blue?\nAnswer:",
)
"""Beginnings that any language model can go on from; no two share a prefix, so no prefix cache is hit."""

_PLACES = ("Aldenmoor", "Brackwell", "Cawthorne", "Dunmere", "Eastholm", "Fenwick", "Garrow", "Hollin Bay")
_GOODS = ("salt", "timber", "copper wire", "wool", "machine parts", "seed potatoes", "glass", "lamp oil")
_EVENTS = (
    "delayed for {n} hours by fog and reloaded after dark",
    "weighed twice, because the first scale was off by {n} kilograms",
    "short of {n} crates, which were found later on the wrong quay",
    "sold on the same evening for {n} crowns to a dealer from {place}",
    "sent back to {place} since the papers named {n} barrels instead",
    "stored in shed {n} until the bridge at {place} is open again",
)


@cache
def text(kind: str) -> str:
    """Return a probe text of about 500 tokens; kinds are prose, code, dialogue and facts."""
    return files("shakedown.checks").joinpath("texts", f"{kind}.txt").read_text(encoding="utf-8")


def logbook(entries: int, seed: int) -> str:
    """Return a harbour's logbook: text of any length in which no entry repeats another, the same for equal seeds."""
    draw = random.Random(seed)  # noqa: S311 - text for probes, no secret
    lines = []
    for number in range(1, entries + 1):
        event = draw.choice(_EVENTS).format(n=draw.randint(2, 990), place=draw.choice(_PLACES))
        day, goods, place = draw.randint(1, 365), draw.choice(_GOODS), draw.choice(_PLACES)
        lines.append(f"Entry {number}, day {day}: a load of {goods} from {place} was {event}.")
    return "\n".join(lines)
