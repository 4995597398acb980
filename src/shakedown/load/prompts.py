"""What is sent: prompts, the sources they come from, and how a source is found by its name.

A source is one file in ``shakedown/load/sources`` with a top-level ``SOURCE``; it is found by itself and held by one
contract suite (``tests/contract/test_prompt_sources.py``).
"""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import shakedown.load.sources
from shakedown.domain.errors import UserError
from shakedown.domain.nearest import nearest
from shakedown.domain.workload import Workload
from shakedown.load.tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt: text or chat messages, and the token ids where they are what was drawn.

    ``input_tokens`` is None where only the server can say (messages go through its chat template).
    """

    text: str
    input_tokens: int | None
    output_tokens: int
    token_ids: tuple[int, ...] | None = None
    """Sent instead of the text where the endpoint takes ids: the only way to an exact length of random tokens."""
    messages: tuple[Mapping[str, object], ...] | None = None
    """Sent as they are to a chat endpoint."""
    at_s: float | None = None
    """Offset at which a trace sends it."""
    follow_ups: tuple[str, ...] = ()
    """Further user turns of a session, each sent with all that went before."""
    think_s: float = 0.0
    """Pause before each follow-up."""

    @property
    def digest(self) -> int:
        """63-bit hash of the content: equal prompts, equal digest."""
        content = repr((self.messages or self.text, self.follow_ups)).encode()
        return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest()) >> 1


class PromptSource(Protocol):
    """Gives prompts one after another; deterministic, and never the same twice until it is exhausted."""

    def take(self, count: int) -> list[Prompt]:
        """The next ``count`` prompts."""
        ...


class SourceKind(Protocol):
    """One way to make prompts."""

    name: str
    """First part of its word in ``prompts``: ``text`` of ``text:code``."""
    example: str
    """The word as a user may write it, for messages."""

    def open(self, argument: str | None, request: SourceRequest) -> PromptSource:
        """Make a source; ``argument`` is what follows the colon.

        Raises:
            UserError: if the argument is missing, unknown or names an unusable file.
        """
        ...


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """What every kind of source needs to know."""

    workload: Workload
    tokenizer: Tokenizer
    seed: str
    """Seeds the source's random numbers; differs between the sources of a workload and between salts."""

    def random(self) -> random.Random:
        """A fresh generator of random numbers for this source."""
        return random.Random(self.seed)  # noqa: S311 - reproducibility is the point, not secrecy


@cache
def source_kinds() -> dict[str, SourceKind]:
    """All kinds by name."""
    found: dict[str, SourceKind] = {}
    for info in pkgutil.iter_modules(shakedown.load.sources.__path__):
        module = importlib.import_module(f"shakedown.load.sources.{info.name}")
        kind: SourceKind | None = getattr(module, "SOURCE", None)
        if kind is not None:
            found[kind.name] = kind
    return found


def prompt_source(workload: Workload, tokenizer: Tokenizer, *, salt: str) -> PromptSource:
    """Open the sources of a workload; several alternate request by request.

    Deterministic in ``workload.seed`` and ``salt``. A made source (text, random tokens) never repeats itself, nor
    another salt's prompts. A file has only the prompts it has: use one source for all points of a server's life, and
    what comes again after its end is counted as repeated.

    Raises:
        UserError: for an unknown word or an unusable file.
    """
    opened = [
        _open(word, SourceRequest(workload, tokenizer, f"{workload.seed}/{salt}/{number}/{word}"))
        for number, word in enumerate(workload.prompts)
    ]
    return opened[0] if len(opened) == 1 else _Alternating(opened)


def _open(word: str, request: SourceRequest) -> PromptSource:
    name, _, argument = word.partition(":")
    kind = source_kinds().get(name)
    if kind is None:
        examples = ", ".join(kind.example for kind in source_kinds().values())
        close = nearest(name, source_kinds())
        hint = f" (did you mean {close!r}?)" if close else ""
        raise UserError(f"prompts {word!r}: no such source{hint}; there are {examples}")
    return kind.open(argument or None, request)


class _Alternating:
    """Several sources, one prompt of each in turn."""

    def __init__(self, sources: Sequence[PromptSource]) -> None:
        self._sources = sources
        self._next = 0

    def take(self, count: int) -> list[Prompt]:
        out: list[Prompt] = []
        for _ in range(count):
            out += self._sources[self._next].take(1)
            self._next = (self._next + 1) % len(self._sources)
        return out
