"""One of several hosts differs."""

from tests.unit.judge.campaigns import campaign, candidate, points, trial

A = candidate("baseline", {"x": 1}, {"x": "1"})

APPEARS = {"one host": campaign([A], [trial(A, points())], hosts_apart={"b": "the reference is 31 % slower"})}
SAYS = ("The host b was set apart: the reference is 31 % slower",)
ABSENT = {"here alone": campaign([A], [trial(A, points())])}
