"""``jsonl:FILE``: one object a line with ``prompt`` or ``messages``, and perhaps ``output_len``."""

from __future__ import annotations

from dataclasses import dataclass

from shakedown.domain.errors import UserError
from shakedown.load.prompt_files import Deck, json_lines, positive_int
from shakedown.load.prompts import Prompt, PromptSource, SourceRequest


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str = "jsonl"
    example: str = "jsonl:FILE"

    def open(self, argument: str | None, request: SourceRequest) -> PromptSource:
        rows = [_row(argument, number, row) for number, row in json_lines("jsonl", argument)]
        return JsonLinesSource(rows, request)


@dataclass(frozen=True, slots=True)
class _Row:
    text: str
    messages: tuple[dict[str, object], ...] | None
    output_tokens: int | None


def _row(path: str | None, number: int, row: dict[str, object]) -> _Row:
    output = positive_int(path, number, row, "output_len") if "output_len" in row else None
    prompt, messages = row.get("prompt"), row.get("messages")
    if isinstance(prompt, str) and prompt:
        return _Row(prompt, None, output)
    if isinstance(messages, list) and messages and all(isinstance(message, dict) for message in messages):
        text = "\n\n".join(str(message.get("content", "")) for message in messages)
        return _Row(text, tuple(messages), output)
    raise UserError(f"{path}:{number}: expected 'prompt' (text) or 'messages' (a list of objects)")


class JsonLinesSource:
    """The rows of a file in a seeded order; ``messages`` go to a chat endpoint as they are."""

    def __init__(self, rows: list[_Row], request: SourceRequest) -> None:
        self._deck = Deck(rows, request.random())
        self._request = request

    def take(self, count: int) -> list[Prompt]:
        """The next ``count`` prompts."""
        return [self._one(self._deck.draw()) for _ in range(count)]

    def _one(self, row: _Row) -> Prompt:
        tokenizer = self._request.tokenizer
        counted = tokenizer.count(row.text) if tokenizer.exact and row.messages is None else None
        output = row.output_tokens or self._request.workload.output_tokens
        return Prompt(row.text, counted, output, messages=row.messages)


SOURCE = _Kind()
