"""The budget ran out."""

from tests.unit.judge.campaigns import campaign, candidate, points, trial

A = candidate("baseline", {"x": 1}, {"x": "1"})
B = candidate("x=2", {"x": 2}, {"x": "2"})

APPEARS = {"one left": campaign([A, B], [trial(A, points())], budget_exhausted=True, complete=False)}
SAYS = ("1 candidate left",)
ABSENT = {"interrupted": campaign([A, B], [trial(A, points())], complete=False)}
