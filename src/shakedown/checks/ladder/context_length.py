"""A prompt as long as the workload's longest must be taken, and taken whole."""

from __future__ import annotations

from shakedown.checks.base import Context, Outcome, Rung, failed, passed, skipped
from shakedown.checks.corpus import logbook
from shakedown.checks.probing import TOKENS_PER_ENTRY
from shakedown.checks.server import RefusedError
from shakedown.domain.words import GateLevel, Verdict


class _ContextLength:
    name = "context_length"
    rung = Rung.SANITY
    level = GateLevel.QUICK
    fails_as = Verdict.GARBAGE

    def run(self, context: Context) -> Outcome:
        wanted, told = context.gates.context_tokens, context.effective.get("context_tokens")
        if isinstance(told, int) and told <= wanted:
            return failed(
                f"the server takes {told:,} tokens a request, no room for an answer to the workload's {wanted:,}",
                context_tokens=told,
                wanted_tokens=wanted,
            )
        if context.at_least(GateLevel.STANDARD):
            return _send(context, wanted)
        if isinstance(told, int):
            return passed(
                f"the server says it takes {told:,} tokens a request", context_tokens=told, wanted_tokens=wanted
            )
        return skipped(
            "the server does not say how long a request may be; level standard sends one", wanted_tokens=wanted
        )


CHECK = _ContextLength()


def _send(context: Context, wanted: int) -> Outcome:
    ids = context.token_ids(logbook(wanted // TOKENS_PER_ENTRY + 1, 0))[:wanted]
    try:
        answer = context.server.completion(ids, max_tokens=1, temperature=0.0)
    except RefusedError as error:
        return failed(f"a prompt of {len(ids):,} tokens is refused", wanted_tokens=wanted, error=str(error))
    counted = answer.prompt_tokens
    if counted is not None and counted < len(ids):
        return failed(
            f"of a prompt of {len(ids):,} tokens the server read {counted:,}",
            wanted_tokens=len(ids),
            prompt_tokens=counted,
        )
    return passed(f"a prompt of {len(ids):,} tokens is read whole", prompt_tokens=counted, wanted_tokens=len(ids))
