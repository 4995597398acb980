"""The candidate of first values is not the reference."""

from tests.unit.judge.campaigns import campaign, candidate, points, trial

from shakedown.domain.record import CandidateRecord
from shakedown.domain.words import Verdict

A = candidate("baseline", {"kv": "auto"}, {"kv": "auto"})
B = candidate("kv=bf16", {"kv": "bf16"}, {"kv": "bf16"})
LOSSY = CandidateRecord(candidate=A, lossy=("the KV cache is FP8",))

APPEARS = {
    "it failed": campaign(
        [A, B], [trial(A, number=1, verdict=Verdict.FAILED, reason="out of memory"), trial(B, points(), number=2)]
    ),
    "it is lossy": campaign([LOSSY, B], [trial(A, points(), number=1), trial(B, points(), number=2)]),
}
SAYS = ("kv=bf16 is the reference", "baseline")
ABSENT = {
    "it qualified": campaign([A, B], [trial(A, points(), number=1), trial(B, points(), number=2)]),
    "nothing qualified": campaign([A], [trial(A, verdict=Verdict.FAILED, reason="no")]),
    "all are lossy": campaign([LOSSY], [trial(A, points())]),
}
