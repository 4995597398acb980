"""The same prompt again, so that its keys and values come from the prefix cache: the answer must stay what it was.

In hybrid models NaN was seen only after a hit (vllm-project/vllm issue 55766).
"""

from __future__ import annotations

from shakedown.checks.base import Context, Outcome, Rung, failed, passed
from shakedown.checks.corpus import logbook
from shakedown.checks.detectors import RUN_LIMIT
from shakedown.checks.first_token import ROW_LIMIT, fault_of, first_token_kl
from shakedown.checks.samples import ask
from shakedown.domain.words import GateLevel, Verdict

CHARACTERS = {GateLevel.QUICK: (120,), GateLevel.STANDARD: (120, 1800), GateLevel.THOROUGH: (120, 3200, 12800)}
"""Lengths of the shared prefix; hybrid models cache in blocks of 528 to 816 tokens, so short prompts never hit."""
CHARACTERS_PER_TOKEN = 2
"""Fewest characters a token stands for in this text: keeps prompts within the context that is gated."""


class _PrefixCache:
    name = "prefix_cache"
    rung = Rung.REPEATS
    level = GateLevel.QUICK
    fails_as = Verdict.GARBAGE

    def run(self, context: Context) -> Outcome:
        longest = context.gates.context_tokens * CHARACTERS_PER_TOKEN
        hits: list[int | None] = []
        furthest = 0.0
        for seed, characters in enumerate(CHARACTERS[context.gates.level]):
            prompt = logbook(characters // 60 + 1, 2000 + seed)[: min(characters, longest)]
            asked = (("", 2), ("", 2), (" In short,", 2), ("", RUN_LIMIT))  # the last one long enough to show a run
            cold, *again = [
                ask(context.server, prompt + tail, max_tokens=tokens, temperature=1.0, seed=1) for tail, tokens in asked
            ]
            hits += [answer.cached_tokens for answer in again]
            for number, answer in enumerate([cold, *again]):
                fault = fault_of(answer)
                if fault is not None:
                    when = "with a cold cache" if number == 0 else f"when asked again ({number})"
                    return failed(
                        f"a prompt of {len(prompt)} characters brings {fault} {when}",
                        cached_tokens=answer.cached_tokens,
                    )
            moved = [kl for answer in (again[0], again[2]) if (kl := first_token_kl(cold, answer)) is not None]
            furthest = max([furthest, *moved])
            if furthest > ROW_LIMIT:
                return failed(
                    f"a prompt of {len(prompt)} characters is answered differently from the cache: {furthest:.2f} nats",
                    kl=furthest,
                    limit=ROW_LIMIT,
                )
        seen = [count for count in hits if count is not None]
        told = f"up to {max(seen)} tokens came from the cache" if seen else "the server does not say what it cached"
        return passed(
            f"repeated prompts are answered as before; {told}", cached_tokens=hits, largest_kl=furthest, limit=ROW_LIMIT
        )


CHECK = _PrefixCache()
