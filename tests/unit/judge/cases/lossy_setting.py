"""Lossy settings of candidates that qualified."""

from tests.unit.judge.campaigns import campaign, candidate, points, trial

from shakedown.domain.record import CandidateRecord
from shakedown.domain.words import Verdict

A = candidate("baseline", {"kv": "f16"}, {"kv": "f16"})
B = candidate("kv=q8_0", {"kv": "q8_0"}, {"kv": "q8_0"})
LOSSY = CandidateRecord(candidate=B, lossy=("the KV cache is quantised to q8_0",))

APPEARS = {
    "it wins": campaign([A, LOSSY], [trial(A, points(100), number=1), trial(B, points(120), number=2)]),
    "it loses": campaign([A, LOSSY], [trial(A, points(100), number=1), trial(B, points(80), number=2)]),
}
SAYS = ("quantised to q8_0",)
ABSENT = {
    "lossless": campaign([A, B], [trial(A, points(100), number=1), trial(B, points(120), number=2)]),
    "did not qualify": campaign(
        [A, LOSSY], [trial(A, points(100), number=1), trial(B, number=2, verdict=Verdict.INACCURATE)]
    ),
}
