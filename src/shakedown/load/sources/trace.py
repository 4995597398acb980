"""``trace:FILE``: a recorded traffic in Mooncake's form, replayed with its times, lengths and shared prefixes.

One object a line: ``timestamp`` (milliseconds), ``input_length``, ``output_length`` and ``hash_ids``, one id for each
block of 512 input tokens; equal ids at the start of two requests mean an equal prefix (Qin et al., Mooncake,
arXiv 2407.00079, and the traces published with it).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from random import Random

from shakedown.domain.errors import UserError
from shakedown.load.prompt_files import json_lines, positive_int
from shakedown.load.prompts import Prompt, PromptSource, SourceRequest
from shakedown.load.sources.text import exact_text
from shakedown.load.text import natural_text, text_of_length
from shakedown.load.tokenizers import cut_to

BLOCK_TOKENS = 512
CACHED_BLOCKS = 8192


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str = "trace"
    example: str = "trace:FILE"

    def open(self, argument: str | None, request: SourceRequest) -> PromptSource:
        rows = [_row(argument, number, row) for number, row in json_lines("trace", argument)]
        return TraceSource(sorted(rows, key=lambda row: row.at_s), request)


@dataclass(frozen=True, slots=True)
class _Row:
    at_s: float
    input_tokens: int
    output_tokens: int
    hash_ids: tuple[int, ...]


def _row(path: str | None, number: int, row: dict[str, object]) -> _Row:
    timestamp, hash_ids = row.get("timestamp"), row.get("hash_ids", [])
    if not isinstance(timestamp, int | float) or timestamp < 0:
        raise UserError(f"{path}:{number}: timestamp: expected milliseconds, got {timestamp!r}")
    if not isinstance(hash_ids, list) or not all(isinstance(value, int) for value in hash_ids):
        raise UserError(f"{path}:{number}: hash_ids: expected a list of whole numbers, got {hash_ids!r}")
    return _Row(
        timestamp / 1000,
        positive_int(path, number, row, "input_length"),
        positive_int(path, number, row, "output_length"),
        tuple(hash_ids),
    )


class TraceSource:
    """The requests of a trace in their order; a block id stands for the same text wherever it appears."""

    def __init__(self, rows: list[_Row], request: SourceRequest) -> None:
        self._rows = rows
        self._tokenizer = request.tokenizer
        self._seed = request.seed
        self._next = 0
        self._block = lru_cache(maxsize=CACHED_BLOCKS)(self._make_block)

    def __len__(self) -> int:
        """Requests of the trace."""
        return len(self._rows)

    def take(self, count: int) -> list[Prompt]:
        """The next ``count`` requests; after the last the trace starts again."""
        return [self._one() for _ in range(count)]

    def _make_block(self, hash_id: int) -> str:
        rng = Random(f"{self._seed}/block/{hash_id}")  # noqa: S311 - reproducible, not secret
        return exact_text("prose", rng, BLOCK_TOKENS, self._tokenizer)

    def _one(self) -> Prompt:
        number = self._next
        row = self._rows[number % len(self._rows)]
        self._next += 1
        text = " ".join(self._block(hash_id) for hash_id in row.hash_ids)  # no word may span two blocks
        own = natural_text("prose", Random(f"{self._seed}/own/{number}"))  # noqa: S311 - reproducible, not secret
        while self._tokenizer.count(text) < row.input_tokens:
            text += text_of_length(own, 4 * row.input_tokens)
        cut = cut_to(text, row.input_tokens, self._tokenizer)
        counted = row.input_tokens if self._tokenizer.exact else None
        return Prompt(cut, counted, row.output_tokens, at_s=row.at_s - self._rows[0].at_s)


SOURCE = _Kind()
