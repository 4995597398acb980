"""Sampled answers that the sanity checks share.

They are drawn at temperature 1, not greedily: a dull or even a random model repeats itself when it always takes the
most likely token, while a server whose logits are broken repeats itself at any temperature.
"""

from __future__ import annotations

from dataclasses import dataclass

from shakedown.checks.answer import Answer
from shakedown.checks.corpus import OPENINGS
from shakedown.checks.parallel import in_parallel
from shakedown.checks.server import RefusedError, Server

TOKENS = 12
"""Tokens of each sample: enough for a run to stand out, few enough for a fraction of a second."""

TOP = 20
"""Alternatives asked for at each token: the most that every engine allows unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One opening and what the server made of it."""

    prompt: str
    answer: Answer


def ask(server: Server, prompt: str, **fields: object) -> Answer:
    """Ask for one answer, with log-probabilities where the server gives them."""
    try:
        return server.generate(prompt, logprobs=TOP, **fields)
    except RefusedError:
        return server.generate(prompt, **fields)


def take_samples(server: Server, count: int) -> list[Sample]:
    """Ask for ``count`` samples at once."""

    def sample(order: int) -> Sample:
        prompt = OPENINGS[order]
        return Sample(prompt, ask(server, prompt, max_tokens=TOKENS, temperature=1.0, seed=order + 1))

    return in_parallel(sample, range(count), at_once=count)
