"""Where the time goes."""

from tests.unit.judge.campaigns import Telemetry, campaign, candidate, counters, points, trial

from shakedown.domain.metric import ClientProof
from shakedown.judge import Ceiling

A = candidate("baseline")
SLOW_CLIENT = ClientProof(cpu_s=5.0, send_lateness_s=None, loop_lag_s=None, limited=True)
WAYS = (("one-shot", 0.001), ("NCCL", 0.009))


def ceilings(step_s: float, reading_s: float, ways: tuple[tuple[str, float], ...] = ()) -> tuple[Ceiling, ...]:
    return tuple(
        Ceiling(
            output_tokens_per_s=1e6, candidate_id=A.id, workload="text", concurrency=concurrency, explanation="x",
            step_s=step_s, reading_s=reading_s, all_reduce_s=min((s for _, s in ways), default=0.0), all_reduces=120,
            all_reduce_ways=ways,
        )
        for concurrency in (1, 4)
    )  # fmt: skip


APPEARS = {
    # Points of 100 tokens/s at concurrency 1: a step of 10 ms.
    "memory": campaign([A], [trial(A, points(100))], ceilings=ceilings(0.008, 0.007)),
    "links": campaign([A], [trial(A, points(100))], ceilings=ceilings(0.003, 0.001, WAYS)),
    "kernels": campaign([A], [trial(A, points(100))], ceilings=ceilings(0.002, 0.001)),
    "the scheduler": campaign([A], [trial(A, points(100, telemetry=Telemetry(utilization_mean=(0.4, 0.4))))]),
    "capacity by settings": campaign([A], [trial(A, points(100), effective={"max_running_requests": 2})]),
    "capacity by preemptions": campaign([A], [trial(A, points(100, counters=counters(512, preemptions=7.0)))]),
    "a full cache": campaign([A], [trial(A, points(100, counters=counters(512, kv_usage_max=0.99)))]),
    "the client": campaign([A], [trial(A, points(100, client=SLOW_CLIENT))]),
}
SAYS = ("Where the time goes in baseline on text",)
ABSENT = {
    "nothing is known of machine and server": campaign([A], [trial(A, points(100))]),
    "GPUs are busy and there is no roofline": campaign(
        [A], [trial(A, points(100, telemetry=Telemetry(utilization_mean=(0.97,))))]
    ),
}
