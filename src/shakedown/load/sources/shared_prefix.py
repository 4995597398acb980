"""``shared-prefix:GROUPS`` or ``shared-prefix:GROUPS:TOKENS``: prompts that share their beginning within a group."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from shakedown.domain.errors import UserError
from shakedown.load.prompts import Prompt, PromptSource, SourceRequest
from shakedown.load.sources.text import exact_text
from shakedown.load.text import natural_text, text_of_length
from shakedown.load.tokenizers import cut_to


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str = "shared-prefix"
    example: str = "shared-prefix:GROUPS[:TOKENS]"

    def open(self, argument: str | None, request: SourceRequest) -> PromptSource:
        groups, _, prefix = (argument or "").partition(":")
        total = request.workload.input_tokens
        shared = prefix or str(total // 2)
        if not groups.isdigit() or int(groups) < 1 or not shared.isdigit() or not 0 < int(shared) < total:
            raise UserError(
                f"prompts 'shared-prefix:{argument or ''}': expected shared-prefix:GROUPS[:TOKENS] with at least one "
                f"group and fewer tokens than the prompt's {total}, as in shared-prefix:8:256"
            )
        return SharedPrefixSource(int(groups), int(shared), request)


class SharedPrefixSource:
    """Each prompt is the prefix of its group, the groups in turn, and text of its own."""

    def __init__(self, groups: int, shared: int, request: SourceRequest) -> None:
        self._workload = request.workload
        self._tokenizer = request.tokenizer
        self._rng = request.random()
        self._prefixes = [exact_text("prose", self._fresh(), shared, self._tokenizer) for _ in range(groups)]
        self._made = 0

    def _fresh(self) -> Random:
        return Random(self._rng.getrandbits(64))  # noqa: S311 - reproducible, not secret

    def take(self, count: int) -> list[Prompt]:
        """The next ``count`` prompts."""
        return [self._one() for _ in range(count)]

    def _one(self) -> Prompt:
        prefix = self._prefixes[self._made % len(self._prefixes)]
        self._made += 1
        wanted = self._workload.input_tokens
        own = natural_text("prose", self._fresh())
        text = prefix + "\n\n"
        while self._tokenizer.count(text) <= wanted:
            text += text_of_length(own, 2 * wanted)
        cut = cut_to(text, wanted, self._tokenizer)
        return Prompt(cut, wanted if self._tokenizer.exact else None, self._workload.output_tokens)


SOURCE = _Kind()
