"""Throttled GPUs."""

from tests.unit.judge.campaigns import Telemetry, campaign, candidate, points, trial

A = candidate("baseline")

APPEARS = {
    "it happened": campaign([A], [trial(A, points(telemetry=Telemetry(throttled=True, sm_clock_mhz_min=(900,))))])
}
SAYS = ("throttled", "900 MHz")
ABSENT = {
    "it did not": campaign([A], [trial(A, points(telemetry=Telemetry(throttled=False, sm_clock_mhz_min=(2400,))))])
}
