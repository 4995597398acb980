"""Log-probabilities must be finite numbers not above 0: NaN here is the first visible trace of a broken kernel."""

from __future__ import annotations

from shakedown.checks.base import Context, Outcome, Rung, failed, passed, skipped
from shakedown.checks.detectors import bad_logprobs
from shakedown.domain.words import GateLevel, Verdict


class _FiniteLogprobs:
    name = "finite_logprobs"
    rung = Rung.SANITY
    level = GateLevel.QUICK
    fails_as = Verdict.GARBAGE

    def run(self, context: Context) -> Outcome:
        tokens = sum(len(sample.answer.tokens) for sample in context.samples)
        if not tokens:
            return skipped("the server gives no log-probabilities with its answers")
        faults = [
            f"{sample.prompt[:30]!r}, {fault}" for sample in context.samples for fault in bad_logprobs(sample.answer)
        ]
        if faults:
            return failed(
                f"{len(faults)} of {tokens} log-probabilities are not finite: {faults[0]}",
                faults=faults[:5],
                tokens=tokens,
            )
        return passed(f"{tokens} log-probabilities are finite", tokens=tokens)


CHECK = _FiniteLogprobs()
