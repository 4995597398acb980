"""A flag that was accepted and changed nothing."""

from tests.unit.judge.campaigns import campaign, candidate, points, trial

from shakedown.domain.record import CandidateRecord

OFF = candidate("baseline", {}, {"mscclpp": "off"})
ON = candidate("mscclpp=on", {"enable-mscclpp": True}, {"mscclpp": "on"})
ENV = candidate("mscclpp=env", {}, {"mscclpp": "env"}, env={"MSCCLPP": "1"})
VALUE = candidate("gemm=b", {"gemm": "b"}, {"gemm": "b"})
VALUE_A = candidate("baseline", {"gemm": "a"}, {"gemm": "a"})

APPEARS = {
    "a flag": campaign([OFF, ON], [trial(OFF, points(100), number=1), trial(ON, points(100.3), number=2)]),
    "an environment variable": campaign(
        [OFF, ENV], [trial(OFF, points(100), number=1), trial(ENV, points(100.3), number=2)]
    ),
    "a rule knows it": campaign(
        [OFF, CandidateRecord(candidate=ON, inert=("mscclpp has nothing to act on: the model is not sharded",))],
        [trial(OFF, points(100), number=1)],
    ),
}
SAYS = ("mscclpp",)
ABSENT = {
    "it acts": campaign([OFF, ON], [trial(OFF, points(100), number=1), trial(ON, points(106), number=2)]),
    "equal on average, different at the points": campaign(
        [OFF, ON],
        [
            trial(OFF, points(100), number=1),
            trial(
                ON,
                [p for p in points(106) if p.concurrency == 1] + [p for p in points(94.5) if p.concurrency == 4],
                number=2,
            ),
        ],
    ),
    "two values of one choice": campaign(
        [VALUE_A, VALUE], [trial(VALUE_A, points(100), number=1), trial(VALUE, points(100), number=2)]
    ),
}
