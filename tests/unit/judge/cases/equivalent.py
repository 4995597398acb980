"""Two values of one choice."""

from tests.unit.judge.campaigns import campaign, candidate, points, trial

A = candidate("baseline", {"gemm": "cutlass"}, {"gemm": "cutlass"})
B = candidate("gemm=cudnn", {"gemm": "cudnn"}, {"gemm": "cudnn"})

APPEARS = {
    "within the margin": campaign([A, B], [trial(A, points(100), number=1), trial(B, points(100.4), number=2)]),
}
SAYS = ("gemm", "cutlass", "cudnn", "2 %", "interval")
ABSENT = {
    "clearly faster": campaign([A, B], [trial(A, points(100), number=1), trial(B, points(110), number=2)]),
    "too noisy to say": campaign(
        [A, B], [trial(A, points(100, noise=0.1), number=1), trial(B, points(100.4, noise=0.1), number=2)]
    ),
    "an on/off flag is inert, not equivalent": campaign(
        [candidate("off", {}, {"m": "off"}), candidate("on", {"enable-m": True}, {"m": "on"})],
        [
            trial(candidate("off", {}, {"m": "off"}), points(100), number=1),
            trial(candidate("on", {"enable-m": True}, {"m": "on"}), points(100), number=2),
        ],
    ),
}
