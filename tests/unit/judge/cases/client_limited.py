"""The client was the limit."""

from tests.unit.judge.campaigns import campaign, candidate, points, spread, trial

from shakedown.domain.metric import ClientProof

A = candidate("baseline")
LIMITED = ClientProof(cpu_s=5.0, send_lateness_s=spread(0.5), loop_lag_s=spread(0.2), limited=True)

APPEARS = {"at its limit": campaign([A], [trial(A, points(client=LIMITED))])}
SAYS = ("client", "text at concurrency 1")
ABSENT = {"idle": campaign([A], [trial(A, points())])}
