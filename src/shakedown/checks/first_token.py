"""Comparing the first tokens of two answers to one prompt: the cheapest look at whether the same was computed."""

from __future__ import annotations

import math

from shakedown.checks.answer import Answer
from shakedown.checks.detectors import bad_logprobs, is_one_run
from shakedown.checks.samples import TOP
from shakedown.stats.divergence import kl_from_top

ROW_LIMIT = 0.5
"""Nats by which a first token's distribution may move when only the batch or the cache around it changes.

Rounding moves it by about 0.001, an 8-bit KV cache read back instead of fresh keys by about 0.05; a row that read
another row's state moves by several nats.
"""


def first_token_kl(one: Answer, other: Answer) -> float | None:
    """Divergence in nats of the first token's distribution; None where either answer lists no alternatives."""
    if not one.tokens or not other.tokens:
        return None
    return kl_from_top(first_top(one), first_top(other))


def first_top(answer: Answer) -> dict[str, float]:
    """Alternatives of the first token, the ``TOP`` likeliest: engines may add the sampled token beyond those."""
    told = answer.tokens[0].top if answer.tokens else {}
    finite = {name: value for name, value in told.items() if value is not None and math.isfinite(value)}
    return dict(sorted(finite.items(), key=lambda item: item[1], reverse=True)[:TOP])


def fault_of(answer: Answer) -> str | None:
    """Say what is plainly broken in an answer, or None."""
    faults = bad_logprobs(answer)
    if faults:
        return f"log-probabilities that are not finite ({faults[0]})"
    if is_one_run(answer):
        return f"one token over and over ({answer.text[:24]!r})"
    return None
