"""The language model that a scripted engine serves: a table of distributions over a few words.

The last six tokens choose a row. ``drift`` disturbs the rows beyond some length of context, as an FP8 cache without
scales disturbs a real model.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence

import numpy as np
from tests.fakes.toy_model import BANG, FIRST_BYTE, FIRST_WORD, SHAPES, WORDS

PIECES = tuple(f" {word}" for word in WORDS)
UNLIKELY = -20.0
"""Log-probability of a token that is no word: the model never says one."""
COMMON = frozenset(
    ("the", "of", "and", "to", "a", "in", "is", "it", "that", "was", "he", "for", "on", "with", "as", "at", "by", "not")
)


class Mind:
    """Next-token distributions."""

    def __init__(self, *, drift: float = 0.0, beyond: int = 0) -> None:
        rng = np.random.default_rng(3)
        logits = rng.normal(0, 2.0, size=(SHAPES, len(WORDS)))
        other = rng.normal(0, 2.0, size=(SHAPES, len(WORDS)))
        self._near = _log_softmax(logits)
        self._far = _log_softmax(logits + drift * other) if drift else self._near
        self._beyond = beyond
        self._best = self._near.argmax(axis=1).tolist(), self._far.argmax(axis=1).tolist()

    def row(self, ids: Sequence[int], length: int) -> np.ndarray:
        """Log-probabilities of the words after ``ids``, the end of a context of ``length`` tokens."""
        return (self._far if length > self._beyond else self._near)[_shape(ids)]

    def best(self, ids: Sequence[int], length: int) -> int:
        """The likeliest next token."""
        return self._best[length > self._beyond][_shape(ids)] + FIRST_WORD

    def draw(self, row: np.ndarray, dice: random.Random) -> int:
        """A token at temperature 1."""
        return dice.choices(range(FIRST_WORD, FIRST_WORD + len(WORDS)), weights=np.exp(row).tolist())[0]


def _shape(ids: Sequence[int]) -> int:
    return zlib.crc32(repr(ids[-6:]).encode()) % SHAPES


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def top_of(row: np.ndarray, count: int) -> dict[int, float]:
    """The likeliest tokens with their log-probabilities."""
    return {int(word) + FIRST_WORD: float(row[word]) for word in np.argsort(-row)[:count]}


def logprob_of(row: np.ndarray, token: int) -> float:
    """Log-probability of any token."""
    return float(row[token - FIRST_WORD]) if token >= FIRST_WORD else UNLIKELY


def encode(text: str) -> list[int]:
    """A token is a byte."""
    return [byte + FIRST_BYTE for byte in text.encode()]


def piece(token: int) -> str:
    """Text of a generated token."""
    return PIECES[token - FIRST_WORD] if token >= FIRST_WORD else "!" if token == BANG else chr(token - FIRST_BYTE)


def decode(ids: Sequence[int]) -> str:
    """Text of any tokens."""
    parts = (bytes([i - FIRST_BYTE]) if FIRST_BYTE <= i < FIRST_WORD else piece(i).encode() for i in ids)
    return b"".join(parts).decode("utf-8", "replace")


def reads_like_text(ids: Sequence[int]) -> bool:
    """Whether a prompt is language: of its words at least one in twelve is a very common one."""
    words = decode(ids).lower().split()
    return 12 * sum(word in COMMON for word in words) >= len(words)
