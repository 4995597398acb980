"""``repeating``: text that repeats itself, the best case of n-gram speculation."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from shakedown.domain.errors import UserError
from shakedown.load.prompts import Prompt, PromptSource, SourceRequest
from shakedown.load.text import natural_text, text_of_length
from shakedown.load.tokenizers import cut_to

BLOCK_CHARACTERS = 600


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str = "repeating"
    example: str = "repeating"

    def open(self, argument: str | None, request: SourceRequest) -> PromptSource:
        if argument is not None:
            raise UserError(f"prompts 'repeating:{argument}': this source takes no argument")
        return RepeatingSource(request)


class RepeatingSource:
    """A few sentences over and over; different ones in each prompt."""

    def __init__(self, request: SourceRequest) -> None:
        self._workload = request.workload
        self._tokenizer = request.tokenizer
        self._rng = request.random()

    def take(self, count: int) -> list[Prompt]:
        """The next ``count`` prompts."""
        return [self._one() for _ in range(count)]

    def _one(self) -> Prompt:
        wanted = self._workload.input_tokens
        rng = Random(self._rng.getrandbits(64))  # noqa: S311 - reproducible, not secret
        block = text_of_length(natural_text("prose", rng), BLOCK_CHARACTERS)
        text = block
        while self._tokenizer.count(text) < wanted:
            text += text
        cut = cut_to(text, wanted, self._tokenizer)
        return Prompt(cut, wanted if self._tokenizer.exact else None, self._workload.output_tokens)


SOURCE = _Kind()
