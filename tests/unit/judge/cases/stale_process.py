"""Another server answered."""

from tests.unit.judge.campaigns import campaign, candidate, points, trial

A = candidate("baseline", {"x": 1}, {"x": "1"})
B = candidate("x=2", {"x": 2}, {"x": "2"})

APPEARS = {
    "one process, two candidates": campaign(
        [A, B],
        [
            trial(A, points(), number=1, pid=7, process_started_at=1001.0),
            trial(B, points(), number=2, pid=7, process_started_at=1001.0),
        ],
    ),
    "older than its launch": campaign([A], [trial(A, points(), number=1, pid=7, process_started_at=400.0)]),
}
SAYS = ("7",)
ABSENT = {
    "own processes": campaign([A, B], [trial(A, points(), number=1), trial(B, points(), number=2)]),
    "a pid used again": campaign(
        [A, B],
        [
            trial(A, points(), number=1, pid=7, process_started_at=1001.0),
            trial(B, points(), number=2, pid=7, process_started_at=2001.0),
        ],
    ),
}
