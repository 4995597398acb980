"""One configuration with two numbers."""

from tests.unit.judge.campaigns import campaign, candidate, points, trial

A = candidate("baseline", {"x": 1}, {"x": "1"})
B = candidate("x=2", {"x": 2}, {"x": "2"})

APPEARS = {
    "two launches far apart": campaign([A], [trial(A, points(71.9), number=1), trial(A, points(172.2), number=2)]),
}
SAYS = ("baseline", "two numbers")
ABSENT = {
    "an ordinary launch effect": campaign([A], [trial(A, points(100), number=1), trial(A, points(103), number=2)]),
    "two configurations": campaign([A, B], [trial(A, points(71.9), number=1), trial(B, points(172.2), number=2)]),
    "repeats that scatter as much": campaign(
        [A], [trial(A, points(100, noise=0.2), number=1), trial(A, points(108, noise=0.2), number=2)]
    ),
}
