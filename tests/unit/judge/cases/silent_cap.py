"""A cap on running requests that nobody asked for."""

from tests.unit.judge.campaigns import campaign, candidate, counters, points, trial

from shakedown.domain.workload import Workload

WIDE = Workload(name="text", concurrency=(16, 64), input_tokens=64, output_tokens=64)
PLAIN = candidate("baseline", {}, {"s": "off"})
SPEC = candidate("s=mtp", {"speculative-algorithm": "NEXTN"}, {"s": "mtp"})
ASKED = candidate("limited", {"max-running-requests": 48})

APPEARS = {
    "read back from the settings": campaign(
        [PLAIN, SPEC],
        [
            trial(PLAIN, points(workloads=[WIDE]), effective={"max_running_requests": 2048}, number=1),
            trial(SPEC, points(150, workloads=[WIDE]), effective={"max_running_requests": 48}, number=2),
        ],
        workloads=[WIDE],
    ),
    "seen in the counters": campaign(
        [SPEC],
        [trial(SPEC, points(workloads=[WIDE], counters=counters(running_max=48, queued_max=16)))],
        workloads=[WIDE],
    ),
}
SAYS = ("48", "64")
ABSENT = {
    "asked for": campaign(
        [ASKED], [trial(ASKED, points(workloads=[WIDE]), effective={"max_running_requests": 48})], workloads=[WIDE]
    ),
    "never reached": campaign([SPEC], [trial(SPEC, points(), effective={"max_running_requests": 48})]),
    "none queued": campaign(
        [SPEC],
        [trial(SPEC, points(workloads=[WIDE], counters=counters(running_max=60, queued_max=0)))],
        workloads=[WIDE],
    ),
}
