"""``random-tokens``: ids drawn evenly from those that ordinary text uses."""

from __future__ import annotations

from dataclasses import dataclass

from shakedown.domain.errors import UserError
from shakedown.load.prompts import Prompt, PromptSource, SourceRequest
from shakedown.load.text import GENRES, passages


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str = "random-tokens"
    example: str = "random-tokens"

    def open(self, argument: str | None, request: SourceRequest) -> PromptSource:
        if argument is not None:
            raise UserError(f"prompts 'random-tokens:{argument}': this source takes no argument")
        return RandomTokenSource(request)


class RandomTokenSource:
    """Random ids of exact number; random words where there is no tokenizer.

    Ids come from the vocabulary that the shipped text uses, so none is special, unused or half a character's byte
    that a server would refuse; it spans thousands of ids.
    """

    def __init__(self, request: SourceRequest) -> None:
        self._workload = request.workload
        self._tokenizer = request.tokenizer
        self._rng = request.random()
        corpus = "\n".join(part for genre in GENRES for part in passages(genre))
        ids = self._tokenizer.encode(corpus)
        self._ids = sorted(set(ids)) if ids else None
        self._words = sorted(set(corpus.split()))

    def take(self, count: int) -> list[Prompt]:
        """The next ``count`` prompts."""
        return [self._one() for _ in range(count)]

    def _one(self) -> Prompt:
        wanted, output = self._workload.input_tokens, self._workload.output_tokens
        if self._ids is None:
            text = ""
            while self._tokenizer.count(text) < wanted:
                text += self._rng.choice(self._words) + " "
            return Prompt(text, None, output)
        ids = tuple(self._rng.choices(self._ids, k=wanted))
        decoded = self._tokenizer.decode(ids)
        assert decoded is not None  # the ids are this tokenizer's own
        return Prompt(decoded, wanted, output, token_ids=ids)


SOURCE = _Kind()
