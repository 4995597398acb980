"""Teacher-forced log-probabilities of frozen token ids: which positions are probed, and how a server is asked.

Engines with prompt log-probabilities answer a whole sequence in one request. On the others each position is one request
that generates a single token; positions ascend, so each request finds the one before it in the prefix cache and costs a
few tokens. The KV cache under test lies in the path either way: what a later position attends to was read back from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from shakedown.checks.base import Context
from shakedown.checks.corpus import OPENINGS, logbook, text
from shakedown.checks.server import Server
from shakedown.client.clock import now_ns
from shakedown.domain.errors import ClientError
from shakedown.domain.words import GateLevel
from shakedown.engines.base import LogprobDialect, Probe, PromptDialect, TokenLogprobs

SHORT = ("facts", "code", "dialogue", "prose")
"""Kinds of short text, in the order in which levels take them."""
LONG = ("prose", "dialogue", "code")
"""Kinds of text that long ones begin with; the logbook follows."""
TOP_PROMPT = 20
"""Alternatives asked of engines with prompt log-probabilities: vLLM refuses more unless told (``--max-logprobs``)."""
TOP_NEXT = 64
"""Alternatives asked of the others: one position an answer, so a longer list costs nothing."""
FIRST = 12
"""Least context of a probe: before it nearly every token is open and a divergence says little."""
SURE_TOKENS = 128
"""No time budget keeps probes from this much context: a slow moment must not make an empty reference."""
TOKENS_PER_ENTRY = 22
"""Fewest tokens that an entry of the logbook makes in the vocabularies seen (32k to 250k tokens)."""


@dataclass(frozen=True, slots=True)
class Depth:
    """How much one level probes."""

    short_texts: int
    """Probe texts of up to ``short_tokens``."""
    short_tokens: int
    long_texts: int
    """Texts as long as the workload's context: prose at the front, then the logbook."""
    short_stretches: int
    """Stretches of neighbouring positions in each short text."""
    stretches: int
    """The same in each long one."""
    stretch: int
    """Positions in a stretch."""
    continuations: int
    """Greedy continuations of the reference's own."""
    continuation_tokens: int
    budget_s: float | None
    """Where set, the writer of the reference goes no further in a text than it can within this time."""


DEPTHS = {
    GateLevel.QUICK: Depth(1, 64, 1, 6, 16, 1, 1, 4, 1.0),
    GateLevel.STANDARD: Depth(4, 256, 1, 16, 24, 3, 2, 16, None),
    GateLevel.THOROUGH: Depth(4, 512, 3, 24, 32, 8, 4, 64, None),
}


@dataclass(frozen=True, slots=True)
class Place:
    """One position to probe: after the first ``position`` tokens of ``sequence``."""

    sequence: int
    position: int
    stretch: int


@dataclass(frozen=True, slots=True)
class Measured:
    """One position and what the server thinks comes next."""

    place: Place
    answer: TokenLogprobs


def starts(length: int, count: int, stretch: int) -> list[int]:
    """Where stretches begin in a text of ``length`` tokens; the last one ends where the text does.

    Half of them are spaced geometrically, so that each power of two has its share and a fault at the first page
    boundary shows. The other half are spread evenly over the second half of the text: geometric spacing alone leaves
    two or three stretches there, too few for an interval to decide about drift at the workload's length.
    """
    last = length - stretch + 1
    if last < FIRST:
        return [max(last, 1)]
    near = np.geomspace(FIRST, max(last // 2, FIRST), count - count // 2)
    far = np.linspace(last // 2, last, count // 2 + 1)[1:]
    found: list[int] = []
    for start in sorted({*near.round().astype(int).tolist(), *far.round().astype(int).tolist()}):
        if not found or start >= found[-1] + stretch:
            found.append(start)
    return found


def freeze_sequences(context: Context, dialect: LogprobDialect) -> tuple[list[list[int]], list[Place]]:
    """Choose the token ids and positions of a new reference.

    Raises:
        CannotTellError: if the server has no tokenizer endpoint.
    """
    depth, context_tokens = DEPTHS[context.gates.level], context.gates.context_tokens
    plan = [(text(kind), min(depth.short_tokens, context_tokens), depth.short_stretches) for kind in SHORT]
    plan = plan[: depth.short_texts]
    if context_tokens > depth.short_tokens:
        for seed, kind in enumerate(LONG[: depth.long_texts]):
            words = f"{text(kind)}\n{logbook(context_tokens // TOKENS_PER_ENTRY + 1, seed)}"
            plan.append((words, context_tokens, depth.stretches))
    sequences = [context.token_ids(words)[:length] for words, length, _ in plan]
    spans = [
        (number, start, depth.stretch)
        for number, (ids, (_, _, count)) in enumerate(zip(sequences, plan, strict=True))
        for start in starts(len(ids), count, depth.stretch)
    ]
    for number in range(depth.continuations):
        prompt = context.token_ids(OPENINGS[number])[:context_tokens]
        grown = _continue(context.server, dialect, prompt, depth.continuation_tokens)
        spans.append((len(sequences), len(prompt), len(grown) - len(prompt)))
        sequences.append(grown)
    places = [
        Place(number, start + step, stretch)
        for stretch, (number, start, size) in enumerate(spans)
        for step in range(size)
    ]
    return sequences, places


def _continue(server: Server, dialect: LogprobDialect, prompt: Sequence[int], tokens: int) -> list[int]:
    ids = list(prompt)
    for _ in range(tokens):
        ids.append(next_token(server, dialect, ids, 1).token_id)
    return ids


def next_token(
    server: Server, dialect: LogprobDialect, ids: Sequence[int], top: int, *, fresh: bool = False
) -> TokenLogprobs:
    """Ask what follows ``ids``; ``fresh`` has all of them computed anew, where the engine has a switch for that.

    Raises:
        ClientError: if the server refuses, or its answer holds no log-probabilities.
    """
    probe = dialect.next_token_request(ids, top, server.target.model)
    if probe.body is not None and "cache_prompt" in probe.body:
        # llama.cpp's own switch. Ascending probes from the cache cost a few tokens each, not the whole prefix; that the
        # last bits then depend on how the prefix was batched is in the f16 row of docs/gates.md, and harmless.
        probe = Probe(probe.method, probe.path, {**probe.body, "cache_prompt": not fresh})
    answer = server.probe(probe)
    try:
        return dialect.parse_next_token(answer)
    except (KeyError, ValueError) as error:
        raise ClientError(f"no log-probabilities after {len(ids)} tokens: {error}") from error


def prompt_tokens(server: Server, dialect: PromptDialect, ids: Sequence[int], top: int) -> list[TokenLogprobs]:
    """Ask for every position of ``ids`` but the first.

    Raises:
        ClientError: if the server refuses, or its answer holds fewer log-probabilities than that.
    """
    answer = server.probe(dialect.request(ids, top, server.target.model))
    try:
        told = dialect.parse(answer)
    except (KeyError, ValueError) as error:
        raise ClientError(f"no log-probabilities of {len(ids)} prompt tokens: {error}") from error
    if len(told) < len(ids) - 1:
        raise ClientError(f"log-probabilities of {len(ids)} prompt tokens asked for, {len(told)} positions given")
    return told


def measure(
    server: Server,
    dialect: LogprobDialect,
    sequences: Sequence[Sequence[int]],
    places: Sequence[Place],
    budget_s: float | None = None,
) -> list[Measured]:
    """Ask for the next-token distributions at ``places``, in ascending order within each sequence.

    With ``budget_s`` a sequence ends early where its next position, if beyond ``SURE_TOKENS``, is predicted to end
    beyond the budget, which all sequences share.

    Raises:
        ClientError: if the server refuses, or answers fewer positions than it was given.
    """
    ordered = sorted(places, key=lambda place: (place.sequence, place.position))
    found: list[Measured] = []
    pace = _Pace(budget_s)
    for number, group in groupby(ordered, key=lambda place: place.sequence):
        wanted = list(group)
        if dialect.prompt is not None:
            found += _whole(server, dialect.prompt, sequences[number], wanted)
        else:
            found += _one_by_one(server, dialect, sequences[number], wanted, pace)
    return found


def _whole(server: Server, dialect: PromptDialect, ids: Sequence[int], places: Sequence[Place]) -> Iterator[Measured]:
    # The last place asks what follows the whole text; the distribution is told at a token, so one must stand there.
    last = places[-1].position
    prompt = [*ids[:last], ids[last] if last < len(ids) else ids[0]]
    told = prompt_tokens(server, dialect, prompt, TOP_PROMPT)
    for place in places:
        yield Measured(place, _most_likely(told[place.position - 1], TOP_PROMPT))


def _one_by_one(
    server: Server, dialect: LogprobDialect, ids: Sequence[int], places: Sequence[Place], pace: _Pace
) -> Iterator[Measured]:
    cached = 0
    for place in places:
        if place.position > SURE_TOKENS and not pace.allows(place.position - cached):
            return
        told = next_token(server, dialect, ids[: place.position], TOP_NEXT)
        pace.spent(place.position - cached)
        cached = place.position
        yield Measured(place, _most_likely(told, TOP_NEXT))


def _most_likely(told: TokenLogprobs, top: int) -> TokenLogprobs:
    """Drop what an engine lists beyond the most likely tokens: the estimator relies on the list being the top."""
    best = sorted(told.top.items(), key=lambda item: item[1], reverse=True)[:top]
    return TokenLogprobs(told.token_id, told.logprob, dict(best))


class _Pace:
    """Keeps probing within a time budget: predicts the next request from the tokens a second so far."""

    def __init__(self, budget_s: float | None) -> None:
        self._budget_s = budget_s
        self._begun = now_ns()
        self._tokens = 0

    def allows(self, tokens: int) -> bool:
        if self._budget_s is None or not self._tokens:
            return True
        elapsed_s = (now_ns() - self._begun) / 1e9
        return elapsed_s * (1 + tokens / self._tokens) <= self._budget_s

    def spent(self, tokens: int) -> None:
        self._tokens += tokens
