"""Prompts sent twice."""

from tests.unit.judge.campaigns import campaign, candidate, points, trial

A = candidate("baseline")

APPEARS = {"it happened": campaign([A], [trial(A, points(repeated_prompts=3))])}
SAYS = ("3 of 8",)
ABSENT = {"it did not": campaign([A], [trial(A, points())])}
