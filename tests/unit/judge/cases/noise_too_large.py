"""Intervals too wide to decide."""

from tests.unit.judge.campaigns import campaign, candidate, points, trial

A = candidate("baseline", {"x": 1}, {"x": "1"})
B = candidate("x=2", {"x": 2}, {"x": "2"})

APPEARS = {
    "noisy repeats": campaign(
        [A, B], [trial(A, points(100, noise=0.1), number=1), trial(B, points(101, noise=0.1), number=2)]
    ),
    "noisy launches": campaign(
        [A, B],
        [
            trial(of, points(speed), number=number)
            for number, (of, speed) in enumerate([(A, 100), (B, 101), (A, 106), (B, 105), (A, 97), (B, 95)], start=1)
        ],
    ),
    "nothing repeated": campaign(
        [A, B], [trial(A, points(100, repeats=1), number=1), trial(B, points(101, repeats=1), number=2)]
    ),
}
SAYS = ("cannot be told",)
ABSENT = {
    "quiet": campaign([A, B], [trial(A, points(100), number=1), trial(B, points(101), number=2)]),
    "noisy but far apart": campaign(
        [A, B], [trial(A, points(100, noise=0.1), number=1), trial(B, points(200, noise=0.1), number=2)]
    ),
}
