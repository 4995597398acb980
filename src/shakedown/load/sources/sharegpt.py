"""``sharegpt:FILE``: recorded conversations; the first human turn is sent, the recorded reply gives the length."""

from __future__ import annotations

import json
from dataclasses import dataclass

from shakedown.domain.errors import UserError
from shakedown.load.prompt_files import Deck, read_text
from shakedown.load.prompts import Prompt, PromptSource, SourceRequest

MIN_TOKENS = 4
"""A shorter reply is asked for with this many tokens, or there would be nothing to time."""


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str = "sharegpt"
    example: str = "sharegpt:FILE"

    def open(self, argument: str | None, request: SourceRequest) -> PromptSource:
        try:
            entries = json.loads(read_text("sharegpt", argument))
        except ValueError as error:
            raise UserError(f"{argument}: not JSON: {error}") from error
        pairs = [pair for entry in entries if (pair := _first_turns(entry))] if isinstance(entries, list) else []
        if not pairs:
            raise UserError(
                f"{argument}: no conversation; expected a list of objects with 'conversations', each turn 'from' "
                "(human, gpt) and 'value'"
            )
        return ShareGptSource(pairs, request)


def _first_turns(entry: object) -> tuple[str, str] | None:
    turns = entry.get("conversations") if isinstance(entry, dict) else None
    if not isinstance(turns, list) or len(turns) < 2 or not all(isinstance(turn, dict) for turn in turns[:2]):
        return None
    asker, first = turns[0].get("from"), turns[0].get("value")
    reply = turns[1].get("value")
    if asker not in {"human", "user"} or not isinstance(first, str) or not isinstance(reply, str):
        return None
    return (first, reply) if first.strip() and reply.strip() else None


class ShareGptSource:
    """First turns in a seeded order; output tokens are those of the recorded reply."""

    def __init__(self, pairs: list[tuple[str, str]], request: SourceRequest) -> None:
        self._deck = Deck(pairs, request.random())
        self._tokenizer = request.tokenizer

    def take(self, count: int) -> list[Prompt]:
        """The next ``count`` prompts."""
        return [self._one(*self._deck.draw()) for _ in range(count)]

    def _one(self, first: str, reply: str) -> Prompt:
        counted = self._tokenizer.count(first)
        output = max(MIN_TOKENS, self._tokenizer.count(reply))
        return Prompt(first, counted if self._tokenizer.exact else None, output)


SOURCE = _Kind()
