"""Surprisal, repetition and script of sampled text must lie near the reference's.

A small model is allowed to be bad; it is not allowed to be different from itself in another configuration.
"""

from __future__ import annotations

from statistics import fmean

from shakedown.checks.base import Context, Outcome, Rung, failed, passed, skipped
from shakedown.checks.detectors import latin_share, repetition
from shakedown.checks.reference import TextStatistics
from shakedown.checks.samples import Sample
from shakedown.domain.words import GateLevel, Verdict

LIMITS = {"surprisal": 1.5, "repetition": 0.4, "latin_share": 0.4}
"""Least difference that fails. A hundred tokens at temperature 1 have a mean surprisal good to 0.3 nats; these limits
are five times that noise, since a finer difference is the business of ``drift_from_reference``."""


class _TextStatistics:
    name = "text_statistics"
    rung = Rung.LIKENESS
    level = GateLevel.QUICK
    fails_as = Verdict.GARBAGE

    def run(self, context: Context) -> Outcome:
        own = statistics_of(context.samples)
        context.record(text=own)
        theirs = context.reference.text if context.reference is not None else None
        if theirs is None:
            told = own.model_dump()
            return (
                passed("recorded", **told)
                if context.draft is not None
                else skipped("no reference to compare with", **told)
            )
        ours, wanted = own.model_dump(), theirs.model_dump()
        far = [
            f"{name} {ours[name]:.2f}, reference {wanted[name]:.2f}"
            for name, limit in LIMITS.items()
            if ours[name] is not None and wanted[name] is not None and abs(ours[name] - wanted[name]) > limit
        ]
        if far:
            return failed(
                f"the text is unlike the reference's: {'; '.join(far)}", own=ours, reference=wanted, limits=LIMITS
            )
        return passed("the text is like the reference's", own=ours, reference=wanted)


CHECK = _TextStatistics()


def statistics_of(samples: list[Sample]) -> TextStatistics:
    """Summarise sampled answers."""
    values = [-token.logprob for s in samples for token in s.answer.tokens if token.logprob is not None]
    units = [[token.text for token in s.answer.tokens] or s.answer.text.split() for s in samples]
    shares = [share for s in samples if (share := latin_share(s.answer.text)) is not None]
    return TextStatistics(
        surprisal=fmean(values) if values else None,
        repetition=fmean(repetition(items) for items in units),
        latin_share=fmean(shares) if shares else None,
    )
