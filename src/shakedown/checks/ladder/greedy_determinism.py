"""Whether greedy text depends on what else is in the batch. Reported, never failed: it may, rightly.

Sums of floating-point numbers depend on the shape of the batch, and a near tie then falls the other way; engines that
promise otherwise say so (vLLM ``VLLM_BATCH_INVARIANT``, SGLang ``--enable-deterministic-inference``).
"""

from __future__ import annotations

from shakedown.checks.base import Context, Outcome, Rung, passed
from shakedown.checks.corpus import OPENINGS
from shakedown.checks.parallel import in_parallel
from shakedown.domain.words import GateLevel, Verdict

PROMPTS = 4
TOKENS = 24


class _GreedyDeterminism:
    name = "greedy_determinism"
    rung = Rung.DETERMINISM
    level = GateLevel.STANDARD
    fails_as = Verdict.GARBAGE

    def run(self, context: Context) -> Outcome:
        def ask(prompt: str) -> str:
            return context.server.generate(prompt, max_tokens=TOKENS, temperature=0.0).text

        prompts = OPENINGS[:PROMPTS]
        alone = [ask(prompt) for prompt in prompts]
        again = [ask(prompt) for prompt in prompts]
        batched = in_parallel(ask, prompts, at_once=PROMPTS)
        same_again = sum(a == b for a, b in zip(alone, again, strict=True))
        same_batched = sum(a == b for a, b in zip(alone, batched, strict=True))
        return passed(
            f"greedy text stays the same for {same_again} of {PROMPTS} prompts asked again, {same_batched} in a batch",
            same_again=same_again,
            same_batched=same_batched,
            prompts=PROMPTS,
        )


CHECK = _GreedyDeterminism()
