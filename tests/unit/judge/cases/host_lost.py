"""One of several hosts stopped answering."""

from tests.unit.judge.campaigns import campaign, candidate, points, trial

A = candidate("baseline", {"x": 1}, {"x": "1"})

APPEARS = {"one host": campaign([A], [trial(A, points())], hosts_lost={"b": "no connection for 130 s"})}
SAYS = ("The host b was given up: no connection for 130 s",)
ABSENT = {"here alone": campaign([A], [trial(A, points())])}
