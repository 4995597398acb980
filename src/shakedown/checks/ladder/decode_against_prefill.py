"""Log-probabilities while decoding against those of a fresh prefill of the same tokens; needs no reference.

Both are the same function of the same tokens, so a difference is a fault of state: a slot's recurrent state, a wrong
page, a CUDA graph that reads stale memory. Method: SGLang's own tests (``sglang/test/kl_test_utils.py``), with k3.
"""

from __future__ import annotations

import math

from shakedown.checks.answer import Answer
from shakedown.checks.base import CannotTellError, Context, Outcome, Rung, failed, needs, passed, skipped
from shakedown.checks.corpus import text
from shakedown.checks.probing import TOP_NEXT, TOP_PROMPT, next_token, prompt_tokens
from shakedown.checks.samples import TOP
from shakedown.domain.words import EngineKind, GateLevel, Verdict
from shakedown.stats.divergence import Decision, bootstrap_mean, decide, k3

LIMIT = 0.05
"""Nats. SGLang holds its models to 0.0025 (Qwen3-Next) to 0.02 (gpt-oss, prefill cache hits) over many tokens; a
quantised KV cache that decode reads back and prefill does not adds its own error to that."""
KINDS = ("prose", "dialogue", "facts")
PROMPT_TOKENS = 40
TOKENS = {GateLevel.STANDARD: 24, GateLevel.THOROUGH: 64}
STEPS_PROBED = 4
"""Positions of each answer that are prefilled anew where that takes a request each."""


class _DecodeAgainstPrefill:
    name = "decode_against_prefill"
    rung = Rung.SELF_CONSISTENCY
    level = GateLevel.STANDARD
    fails_as = Verdict.INACCURATE

    def run(self, context: Context) -> Outcome:
        values: list[float] = []
        clusters: list[tuple[str, int]] = []
        for kind in KINDS:
            prompt = context.token_ids(text(kind))[:PROMPT_TOKENS]
            answer = _decode(context, prompt)
            for warm in (False, True):
                for step, value in _distances(context, prompt, answer, warm=warm):
                    values.append(value)
                    clusters.append((kind, step))
        if not values:
            return skipped("none of the generated tokens is among the alternatives of its prefill")
        estimate = bootstrap_mean(values, clusters)
        evidence: dict[str, object] = {
            "mean_k3": estimate.mean,
            "interval": [estimate.low, estimate.high],
            "limit": LIMIT,
            "tokens": estimate.samples,
        }
        told = f"decode and prefill of the same tokens differ by {estimate.mean:.4f} nats"
        if decide(estimate, LIMIT) is Decision.ABOVE:
            return failed(f"{told} [{estimate.low:.4f}, {estimate.high:.4f}], limit {LIMIT:g}", **evidence)
        return passed(told, **evidence)


CHECK = _DecodeAgainstPrefill()


def _decode(context: Context, prompt: list[int]) -> Answer:
    """Sample an answer and its log-probabilities, token ids told."""
    # vLLM names tokens by their text unless asked; llama.cpp always tells ids; others know no such field.
    ids = {"return_tokens_as_token_ids": True} if context.known_engine.kind is EngineKind.VLLM else {}
    with needs("the server completes no token ids with log-probabilities"):
        answer = context.server.completion(
            prompt, max_tokens=TOKENS[context.gates.level], temperature=1.0, seed=1, logprobs=TOP, **ids
        )
    if not answer.tokens or any(token.id is None for token in answer.tokens):
        raise CannotTellError("the server does not tell the ids of the tokens it generates")
    return answer


def _distances(context: Context, prompt: list[int], answer: Answer, *, warm: bool) -> list[tuple[int, float]]:
    """k3 at steps of the answer; ``warm`` lets the prefill use the prefix cache, else it is computed anew."""
    engine, server = context.known_engine, context.server
    ids = prompt + [token.id for token in answer.tokens if token.id is not None]
    told: dict[int, float | None] = {}
    if engine.logprobs.prompt is not None:
        if not warm and engine.cache_flush is not None:
            server.flush(engine.cache_flush)
        rows = prompt_tokens(server, engine.logprobs.prompt, ids, TOP_PROMPT)
        told = {step: rows[len(prompt) + step - 1].logprob for step in range(len(answer.tokens))}
    else:
        for step in range(0, len(answer.tokens), max(len(answer.tokens) // STEPS_PROBED, 1)):
            place = len(prompt) + step
            top = next_token(server, engine.logprobs, ids[:place], TOP_NEXT, fresh=not warm).top
            told[step] = top.get(ids[place])
    return [
        (step, k3(decoded, prefilled))
        for step, prefilled in told.items()
        if prefilled is not None and (decoded := answer.tokens[step].logprob) is not None and math.isfinite(decoded)
    ]
