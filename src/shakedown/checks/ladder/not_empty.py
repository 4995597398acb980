"""A server that answers 200 with nothing."""

from __future__ import annotations

from shakedown.checks.base import Context, Outcome, Rung, failed, passed
from shakedown.domain.words import GateLevel, Verdict


class _NotEmpty:
    name = "not_empty"
    rung = Rung.SANITY
    level = GateLevel.QUICK
    fails_as = Verdict.GARBAGE

    def run(self, context: Context) -> Outcome:
        empty = [s for s in context.samples if not (s.answer.text.strip() or s.answer.reasoning.strip())]
        # A model may rightly end a text at once; that half of all openings end at once is no property of a model.
        if 2 * len(empty) >= len(context.samples):
            return failed(
                f"{len(empty)} of {len(context.samples)} answers are empty",
                prompts=[sample.prompt[:60] for sample in empty[:3]],
                finish_reasons=sorted({str(sample.answer.finish_reason) for sample in empty}),
            )
        return passed(
            f"{len(context.samples) - len(empty)} of {len(context.samples)} answers hold text", empty=len(empty)
        )


CHECK = _NotEmpty()
