"""What garbage looks like, as pure functions of an answer. Limits carry their reason."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from itertools import pairwise

from shakedown.checks.answer import Answer

RUN_LIMIT = 8
"""Equal tokens in a row that no working model samples at temperature 1 from ordinary text; NaN logits give nothing else
(argmax over NaN is index 0, which is "!" in GPT-2 style vocabularies: vllm-project/vllm issue 55766)."""


def longest_run(items: Sequence[Hashable]) -> tuple[Hashable | None, int]:
    """Return the item of the longest run of equal items, and the run's length."""
    best: tuple[Hashable | None, int] = (None, 0)
    length = 0
    for place, item in enumerate(items):
        length = length + 1 if place and item == items[place - 1] else 1
        if length > best[1]:
            best = (item, length)
    return best


def run_in(answer: Answer) -> tuple[str, int]:
    """Longest run of one token in an answer; of one character where the server lists no tokens."""
    units: Sequence[Hashable] = [token.id if token.id is not None else token.text for token in answer.tokens]
    if not units:
        units = answer.text
    item, length = longest_run(units)
    texts = {token.id: token.text for token in answer.tokens}
    return str(texts.get(item, item)) if isinstance(item, int) else str(item), length


def is_one_run(answer: Answer) -> bool:
    """Whether an answer is little else than one token again and again."""
    units = len(answer.tokens) or len(answer.text)
    length = run_in(answer)[1]
    return length >= RUN_LIMIT and 2 * length >= units


def bad_logprobs(answer: Answer) -> list[str]:
    """Say which log-probabilities are no log-probabilities: not a number, infinite, missing, or above 0.

    The chosen token must have a finite one. Alternatives may be minus infinity, or a huge negative number: a sampler
    that masks tokens says so that way. NaN is never right.
    """
    faults = []
    for place, token in enumerate(answer.tokens):
        value = token.logprob
        if value is None or not math.isfinite(value) or value > 1e-3:
            faults.append(f"token {place} ({token.text!r}): {value}")
        elif any(other is None or math.isnan(other) or other > 1e-3 for other in token.top.values()):
            faults.append(f"token {place} ({token.text!r}): an alternative is no log-probability")
    return faults


def broken_inside(text: str) -> int:
    """Replacement characters before the end: a last one may be a character cut by the token limit, rightly."""
    return text.rstrip("\ufffd").count("\ufffd")


def repetition(items: Sequence[Hashable]) -> float:
    """Share of neighbouring pairs that occurred before: 0 for text without repeats, near 1 for a loop."""
    pairs = list(pairwise(items))
    return 1 - len(set(pairs)) / len(pairs) if pairs else 0.0


def latin_share(text: str) -> float | None:
    """Share of letters from Latin script (ASCII and its extensions); None without letters."""
    letters = [character for character in text if character.isalpha()]
    return sum(ord(letter) < 0x250 for letter in letters) / len(letters) if letters else None
