"""``sessions:TURNS`` or ``sessions:TURNS:THINK``: conversations whose context grows turn by turn."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from shakedown.domain.errors import UserError
from shakedown.load.prompts import Prompt, PromptSource, SourceRequest
from shakedown.load.sources.text import exact_text

MIN_FOLLOW_UP_TOKENS = 8


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str = "sessions"
    example: str = "sessions:TURNS[:THINK]"

    def open(self, argument: str | None, request: SourceRequest) -> PromptSource:
        match = re.fullmatch(r"(\d+)(?::(\d+(?:\.\d+)?)(ms|s))?", argument or "")
        if match is None or int(match[1]) < 1:
            raise UserError(
                f"prompts 'sessions:{argument or ''}': expected sessions:TURNS[:THINK], as in sessions:4 or "
                "sessions:4:2s"
            )
        think_s = float(match[2] or 0) * (0.001 if match[3] == "ms" else 1.0)
        return SessionSource(int(match[1]), think_s, request)


class SessionSource:
    """Conversations of ``turns`` user turns.

    The first has the workload's input tokens, each further one a quarter of them; what the model answered stays in
    the context. The user thinks for ``think_s`` before each further turn.
    """

    def __init__(self, turns: int, think_s: float, request: SourceRequest) -> None:
        self._turns = turns
        self._think_s = think_s
        self._workload = request.workload
        self._tokenizer = request.tokenizer
        self._rng = request.random()

    def take(self, count: int) -> list[Prompt]:
        """The next ``count`` sessions."""
        return [self._one() for _ in range(count)]

    def _text(self, tokens: int) -> str:
        rng = Random(self._rng.getrandbits(64))  # noqa: S311 - reproducible, not secret
        return exact_text("chat", rng, tokens, self._tokenizer)

    def _one(self) -> Prompt:
        wanted = self._workload.input_tokens
        further = max(MIN_FOLLOW_UP_TOKENS, wanted // 4)
        return Prompt(
            self._text(wanted),
            wanted if self._tokenizer.exact else None,
            self._workload.output_tokens,
            follow_ups=tuple(self._text(further) for _ in range(self._turns - 1)),
            think_s=self._think_s,
        )


SOURCE = _Kind()
