"""Exact-answer tasks of the project's own: the answer is right or wrong, no judge is needed."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from shakedown.checks.corpus import logbook


@dataclass(frozen=True, slots=True)
class Task:
    """One question. ``right`` judges the text of the answer."""

    name: str
    prompt: str
    right: Callable[[str], bool]
    max_tokens: int = 24


WORDS = ("amber", "birch", "copper", "delta", "ember", "fjord", "garnet", "hazel", "indigo", "jasper", "kelp", "larch")


def exact_tasks(count: int) -> list[Task]:
    """Return ``count`` tasks of each kind: arithmetic, copying, sorting, filling JSON. Equal counts, equal tasks."""
    draw = random.Random(11)  # noqa: S311 - questions, no secret
    return [make(draw, number) for make in (_sum, _copy, _sort, _fill) for number in range(count)]


def _sum(draw: random.Random, number: int) -> Task:
    one, other = draw.randint(2, 60 + 40 * number), draw.randint(2, 60)
    return Task(
        f"sum_{number}",
        f"2 + 3 = 5\n11 + 6 = 17\n40 + 25 = 65\nComplete the last line with the number only.\n{one} + {other} =",
        lambda text: _last_number(text.split("\n")[0] or text) == one + other,
    )


def _copy(draw: random.Random, number: int) -> Task:
    words = " ".join(draw.sample(WORDS, 4))
    return Task(
        f"copy_{number}", f"Repeat exactly these words and nothing else: {words}", lambda text: words in text.lower()
    )


def _sort(draw: random.Random, number: int) -> Task:
    words = draw.sample(WORDS, 3 + number % 3)
    wanted = sorted(words)
    return Task(
        f"sort_{number}",
        f"Sort these words from A to Z, separated by commas, and write nothing else: {', '.join(words)}",
        lambda text: [word for word in re.findall(r"[a-z]+", text.lower()) if word in wanted][: len(wanted)] == wanted,
        32,
    )


def _fill(draw: random.Random, number: int) -> Task:
    name, amount = draw.choice(WORDS), draw.randint(2, 99)
    return Task(
        f"json_{number}",
        f'Write one JSON object with keys "name" and "amount", nothing else. The name is {name}, the amount {amount}.',
        lambda text: _object_in(text) == {"name": name, "amount": amount},
        40,
    )


def needle_task(tokens: int, depth: float, characters_per_token: float) -> Task:
    """Hide a number at ``depth`` (0 to 1) of a text of about ``tokens`` tokens and ask for it."""
    code = random.Random(tokens + int(100 * depth)).randint(10000, 99999)  # noqa: S311 - a question, no secret
    lines = logbook(tokens // 20 + 1, tokens).split("\n")
    size = 0
    kept = []
    for line in lines:
        size += len(line) + 1
        if size > (tokens - 80) * characters_per_token:
            break
        kept.append(line)
    kept.insert(int(depth * len(kept)), f"Note: the number of the harbour master's safe is {code}.")
    question = "\n".join(kept) + "\n\nWhat is the number of the harbour master's safe? It is"
    return Task(f"needle_{tokens}_{round(100 * depth)}", question, lambda text: str(code) in text, 12)


def _last_number(text: str) -> int | None:
    numbers = re.findall(r"-?\d+", text.replace(",", ""))
    return int(numbers[-1]) if numbers else None


def _object_in(text: str) -> object:
    found = re.search(r"\{.*\}", text, re.DOTALL)
    try:
        return json.loads(found[0]) if found else None
    except ValueError:
        return None
