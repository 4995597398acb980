"""Fewer tokens than asked."""

from tests.unit.judge.campaigns import TEXT, campaign, candidate, points, trial

A = candidate("baseline")
NATURAL = TEXT.model_copy(update={"ignore_eos": False})

APPEARS = {"stopped early": campaign([A], [trial(A, points(early_stops=2))])}
SAYS = ("12 requests", "48")
ABSENT = {
    "all tokens came": campaign([A], [trial(A, points())]),
    "the workload lets answers end": campaign([A], [trial(A, points(early_stops=2))], workloads=[NATURAL]),
}
