"""``usage`` must count the tokens there are: throughput, cost and limits are all computed from it."""

from __future__ import annotations

from shakedown.checks.base import Context, Outcome, Rung, failed, passed, skipped
from shakedown.checks.corpus import OPENINGS
from shakedown.checks.samples import TOKENS
from shakedown.checks.server import RefusedError
from shakedown.domain.words import GateLevel, Verdict

PROMPT = OPENINGS[0]


class _UsageCounts:
    name = "usage_counts"
    rung = Rung.INTERFACES
    level = GateLevel.QUICK
    fails_as = Verdict.GARBAGE

    def run(self, context: Context) -> Outcome:
        counted = [s.answer for s in context.samples if s.answer.completion_tokens is not None]
        if not counted:
            return skipped("the server's answers carry no usage")
        wrong = [
            f"{answer.completion_tokens} counted for an answer that ended at the limit of {TOKENS}"
            for answer in counted
            if answer.finish_reason == "length" and answer.completion_tokens != TOKENS
        ]
        # Beside an end of text the end token may be counted and not listed.
        wrong += [
            f"{answer.completion_tokens} counted, {len(answer.tokens)} listed"
            for answer in counted
            if answer.tokens
            and abs((answer.completion_tokens or 0) - len(answer.tokens)) > (answer.finish_reason == "stop")
        ]
        wrong += _prompt_faults(context) + _stream_faults(context)
        if wrong:
            return failed(f"usage is wrong: {wrong[0]}", wrong=wrong[:5])
        return passed("usage counts the tokens there are, streamed and whole", answers=len(counted))


CHECK = _UsageCounts()


def _prompt_faults(context: Context) -> list[str]:
    """Send token ids, so that the number of prompt tokens is known."""
    ids = context.server.tokenize(PROMPT, special=True)
    if ids is None:
        return []
    try:
        answer = context.server.completion(ids, max_tokens=1, temperature=0.0)
    except RefusedError:
        return []
    if answer.prompt_tokens in (None, len(ids)):
        return []
    return [f"{answer.prompt_tokens} prompt tokens counted for {len(ids)} sent"]


def _stream_faults(context: Context) -> list[str]:
    answer = context.server.stream_text(PROMPT, max_tokens=6, temperature=0.0)
    if answer.finish_reason != "length" or answer.completion_tokens in (None, 6):
        return []
    return [f"{answer.completion_tokens} counted for a stream that ended at the limit of 6"]
