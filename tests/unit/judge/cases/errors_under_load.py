"""Failed requests."""

from tests.unit.judge.campaigns import campaign, candidate, points, trial

A = candidate("baseline")

APPEARS = {"it happened": campaign([A], [trial(A, points(errors={"timeout": 2}, ok=6))])}
SAYS = ("timeout", "12 of 48")
ABSENT = {"it did not": campaign([A], [trial(A, points())])}
