"""Throttled GPUs."""

from tests.unit.judge.campaigns import Telemetry, campaign, candidate, points, trial

A = candidate("baseline")
B = candidate("x=2", {"x": 2}, {"x": "2"})
HOT = points(telemetry=Telemetry(throttled=True, sm_clock_mhz_min=(900,)))

APPEARS = {
    "it happened": campaign([A], [trial(A, HOT)]),
    "to two, in one finding": campaign([A, B], [trial(A, HOT), trial(B, HOT)]),
}
SAYS = ("throttled", "900 MHz")
ABSENT = {
    "it did not": campaign([A], [trial(A, points(telemetry=Telemetry(throttled=False, sm_clock_mhz_min=(2400,))))])
}
