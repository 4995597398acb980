"""A language model of a few lines: deterministic, with real distributions over real tokens, for scripted servers."""

from __future__ import annotations

import json
import random
import re
import zlib

import numpy as np

_NAMES = """
sea wind rope bell ship gull tide salt oar mast fog pier net cod eel buoy hull keel sail deck knot reef dune cove isle
moor lamp coal iron wool silk corn rye oat hay barn mill road gate wall roof door hearth stove kettle bread cheese
apple plum pear nut 日本語 déjà über 😀
"""
WORDS = tuple(_NAMES.split())
BANG = 0
FIRST_BYTE = 1
FIRST_WORD = 257
SHAPES = 4096


class ToyModel:
    """Token 0 is "!", tokens 1 to 256 are the bytes, the rest are words; the last six tokens decide what comes next."""

    def __init__(self, noise: float = 0.0, drift_beyond: int | None = None) -> None:
        rng = np.random.default_rng(3)
        self._logits = rng.normal(0, 2.0, size=(SHAPES, len(WORDS)))
        self._other = rng.normal(0, 2.0, size=(SHAPES, len(WORDS)))
        self._noise = noise
        self._drift_beyond = drift_beyond

    def encode(self, text: str) -> list[int]:
        return [byte + FIRST_BYTE for byte in text.encode()]

    def decode(self, ids: list[int]) -> bytes:
        return b"".join(self.piece(token) for token in ids)

    def piece(self, token: int) -> bytes:
        if token == BANG:
            return b"!"
        if token < FIRST_WORD:
            return bytes([token - FIRST_BYTE])
        return f" {WORDS[token - FIRST_WORD]}".encode()

    def next_logprobs(self, ids: list[int], salt: int = 0, *, wide: bool = False) -> np.ndarray:
        """Log-probabilities of the words after ``ids``; ``salt`` makes another model of it, ``wide`` one of Unicode."""
        shape = zlib.crc32(json.dumps([salt, *ids[-6:]]).encode()) % SHAPES
        drifts = self._drift_beyond is not None and len(ids) > self._drift_beyond
        logits = self._logits[shape] + (1.0 if drifts else self._noise) * self._other[shape]
        if wide:
            logits[:-4] -= 30
        return logits - np.log(np.exp(logits).sum())

    def top(self, logprobs: np.ndarray, count: int) -> dict[int, float]:
        best = np.argsort(-logprobs)[:count]
        return {int(word) + FIRST_WORD: float(logprobs[word]) for word in best}

    def choose(self, logprobs: np.ndarray, temperature: float, draw: random.Random) -> int:
        if temperature == 0:
            return int(np.argmax(logprobs)) + FIRST_WORD
        return draw.choices(range(FIRST_WORD, FIRST_WORD + len(WORDS)), weights=np.exp(logprobs).tolist())[0]


def known_answer(prompt: str) -> str | None:
    """Answer to the tasks that this model has learnt by heart: sums, and copying words."""
    sums = re.findall(r"^(\d+) \+ (\d+) =$", prompt, re.MULTILINE)
    if sums:
        return f" {int(sums[-1][0]) + int(sums[-1][1])}"
    copied = re.search(r"Repeat exactly these words and nothing else: (.*)", prompt)
    return copied[1] if copied else None


def example_of(schema: dict[str, object]) -> object:
    """Smallest value that obeys a schema."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "object":
        return {name: example_of(part) for name, part in schema["properties"].items()}
    if schema["type"] == "array":
        return [example_of(schema["items"])] * schema.get("minItems", 0)
    return True
