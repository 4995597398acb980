"""Different prompts must get different answers: state that leaks between requests, or a prompt that is never read."""

from __future__ import annotations

from collections import Counter

from shakedown.checks.base import Context, Outcome, Rung, failed, passed, skipped
from shakedown.checks.detectors import is_one_run
from shakedown.domain.words import GateLevel, Verdict


class _DifferentAnswers:
    name = "different_answers"
    rung = Rung.SANITY
    level = GateLevel.QUICK
    fails_as = Verdict.GARBAGE

    def run(self, context: Context) -> Outcome:
        # Empty answers and runs of one token are equal too, and are what their own checks are for.
        texts = [s.answer.text for s in context.samples if s.answer.text.strip() and not is_one_run(s.answer)]
        if len(texts) < 3:
            return skipped(f"only {len(texts)} answers hold text that could differ")
        answer, times = Counter(texts).most_common(1)[0]
        if times > len(texts) / 2:
            return failed(
                f"{times} of {len(texts)} different prompts got the same answer: {answer[:40]!r}",
                same=times,
                answer=answer[:120],
            )
        return passed(f"{len(set(texts))} of {len(texts)} answers differ", answers=len(texts), distinct=len(set(texts)))


CHECK = _DifferentAnswers()
