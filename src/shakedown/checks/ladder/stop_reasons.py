"""``finish_reason`` must say why an answer ended: clients decide by it whether they hold all of it."""

from __future__ import annotations

from shakedown.checks.base import Context, Outcome, Rung, failed, passed, skipped
from shakedown.checks.samples import TOKENS
from shakedown.domain.words import GateLevel, Verdict


class _StopReasons:
    name = "stop_reasons"
    rung = Rung.SANITY
    level = GateLevel.QUICK
    fails_as = Verdict.GARBAGE

    def run(self, context: Context) -> Outcome:
        wrong, judged = [], 0
        for sample in context.samples:
            reason, tokens = sample.answer.finish_reason, len(sample.answer.tokens) or sample.answer.completion_tokens
            if tokens is None:
                continue
            judged += 1
            # An end token may or may not be counted, so one below the limit can be either.
            if reason is None or (reason == "length" and tokens < TOKENS - 1) or (reason == "stop" and tokens > TOKENS):
                wrong.append(f"{reason} after {tokens} of {TOKENS} tokens")
        if not judged:
            return skipped("the server counts no tokens, so a stop reason cannot be held against them")
        full = [s for s in context.samples if len(s.answer.tokens) == TOKENS]
        claimed = [s for s in full if s.answer.finish_reason != "length"]
        if len(full) > 1 and len(claimed) == len(full):
            reason = claimed[0].answer.finish_reason
            wrong.append(f"{reason!r} for each of {len(full)} answers that ended at the limit of {TOKENS} tokens")
        if wrong:
            return failed(f"stop reasons are wrong: {wrong[0]}", wrong=wrong[:5])
        return passed(
            f"{judged} answers say why they ended",
            reasons=sorted({str(s.answer.finish_reason) for s in context.samples}),
        )


CHECK = _StopReasons()
