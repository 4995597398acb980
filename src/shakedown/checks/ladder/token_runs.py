"""One token again and again: what a healthy-looking server writes whose logits are NaN (`!!!!!!!!`)."""

from __future__ import annotations

from shakedown.checks.base import Context, Outcome, Rung, failed, passed
from shakedown.checks.detectors import RUN_LIMIT, is_one_run, run_in
from shakedown.domain.words import GateLevel, Verdict


class _TokenRuns:
    name = "token_runs"
    rung = Rung.SANITY
    level = GateLevel.QUICK
    fails_as = Verdict.GARBAGE

    def run(self, context: Context) -> Outcome:
        runs = [(sample.prompt, *run_in(sample.answer)) for sample in context.samples]
        prompt, token, length = max(runs, key=lambda run: run[2])
        stuck = [sample for sample in context.samples if is_one_run(sample.answer)]
        if 2 * len(stuck) < len(context.samples):
            return passed(f"longest run of one token: {length}", longest_run=length, token=token, limit=RUN_LIMIT)
        return failed(
            f"{len(stuck)} of {len(context.samples)} are one token over and over: {stuck[0].answer.text[:20]!r}",
            token=token,
            longest_run=length,
            limit=RUN_LIMIT,
            prompt=prompt,
            answers=[sample.answer.text[:60] for sample in stuck[:3]],
        )


CHECK = _TokenRuns()
