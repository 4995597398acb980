"""Faster than the machine can be."""

from tests.unit.judge.campaigns import campaign, candidate, points, trial

from shakedown.judge import Ceiling

A = candidate("baseline")


def ceiling(tokens_per_s: float, **where: object) -> Ceiling:
    return Ceiling.model_validate({"output_tokens_per_s": tokens_per_s, "explanation": "98 MB at 8 GB/s", **where})


APPEARS = {
    "above the ceiling": campaign([A], [trial(A, points(100))], ceilings=(ceiling(80, concurrency=1),)),
}
SAYS = ("100", "80.0", "ceiling")
ABSENT = {
    "below": campaign([A], [trial(A, points(100))], ceilings=(ceiling(120, concurrency=1),)),
    "a ceiling of another level": campaign([A], [trial(A, points(100))], ceilings=(ceiling(80, concurrency=32),)),
    "a ceiling of another candidate": campaign([A], [trial(A, points(100))], ceilings=(ceiling(1, candidate_id="x"),)),
    "no ceiling known": campaign([A], [trial(A, points(100))]),
}
