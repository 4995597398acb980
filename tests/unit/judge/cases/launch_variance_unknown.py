"""Launches not repeated."""

from tests.unit.judge.campaigns import campaign, candidate, points, trial

A = candidate("baseline", {"x": 1}, {"x": "1"})
B = candidate("x=2", {"x": 2}, {"x": "2"})

APPEARS = {"one launch each": campaign([A, B], [trial(A, points(100), number=1), trial(B, points(101), number=2)])}
SAYS = ("not measured",)
ABSENT = {
    "two launches each": campaign(
        [A, B],
        [
            trial(A, points(100), number=1),
            trial(B, points(101), number=2),
            trial(A, points(100.2), number=3),
            trial(B, points(100.7), number=4),
        ],
    ),
    "nothing to compare": campaign([A], [trial(A, points(100))]),
}
