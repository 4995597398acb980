"""``text``, ``text:prose``, ``text:code``, ``text:chat``: natural text of exact length."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from shakedown.domain.errors import UserError
from shakedown.load.prompts import Prompt, PromptSource, SourceRequest
from shakedown.load.text import GENRES, Genre, natural_text, text_of_length
from shakedown.load.tokenizers import Tokenizer, cut_to


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str = "text"
    example: str = "text, text:prose|code|chat"

    def open(self, argument: str | None, request: SourceRequest) -> PromptSource:
        genres: tuple[Genre, ...] = GENRES
        if argument is not None:
            genres = tuple(genre for genre in GENRES if genre == argument)
            if not genres:
                raise UserError(f"prompts 'text:{argument}': expected text:{', text:'.join(GENRES)}")
        return TextSource(genres, request)


class TextSource:
    """Endless natural text, the genres in turn."""

    def __init__(self, genres: tuple[Genre, ...], request: SourceRequest) -> None:
        self._genres = genres
        self._workload = request.workload
        self._tokenizer = request.tokenizer
        self._rng = request.random()
        self._made = 0

    def take(self, count: int) -> list[Prompt]:
        """The next ``count`` prompts."""
        return [self._one() for _ in range(count)]

    def _one(self) -> Prompt:
        genre = self._genres[self._made % len(self._genres)]
        self._made += 1
        rng = Random(self._rng.getrandbits(64))  # noqa: S311 - reproducible, not secret
        wanted = self._workload.input_tokens
        text = exact_text(genre, rng, wanted, self._tokenizer)
        return Prompt(text, wanted if self._tokenizer.exact else None, self._workload.output_tokens)


def exact_text(genre: Genre, rng: Random, tokens: int, tokenizer: Tokenizer) -> str:
    """Natural text of exactly ``tokens`` tokens (about, where the tokenizer only estimates)."""
    pieces = natural_text(genre, rng)
    text = text_of_length(pieces, tokens * 5)
    while tokenizer.count(text) < tokens:
        text += text_of_length(pieces, tokens)
    return cut_to(text, tokens, tokenizer)


SOURCE = _Kind()
