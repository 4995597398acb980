"""Speculation that makes no difference anywhere."""

from tests.unit.judge.campaigns import campaign, candidate, counters, points, trial

OFF = candidate("baseline", {}, {"speculation": "off"})
ON = candidate("speculation=mtp", {"speculative-algorithm": "NEXTN"}, {"speculation": "mtp"}, env={"SPEC_V2": "1"})
TP1 = candidate("tp=1", {"tp": 1}, {"tp": "1"})
TP2 = candidate("tp=2", {"tp": 2}, {"tp": "2"})
KV_A = candidate("kv=f16", {"cache-type-k": "f16"}, {"kv": "f16"})
KV_B = candidate("kv=q8_0", {"cache-type-k": "q8_0"}, {"kv": "q8_0"})
DRAFTING = counters(512, 300, 300, 200)

APPEARS = {
    "the baseline speculated too": campaign(
        [OFF, ON],
        [trial(OFF, points(172.2, counters=DRAFTING), number=1), trial(ON, points(172.1, counters=DRAFTING), number=2)],
    ),
    "neither speculated": campaign(
        [OFF, ON],
        [
            trial(OFF, points(172.2, counters=counters(512, 0, 0, 0)), number=1),
            trial(ON, points(172.1, counters=counters(512, 0, 0, 0)), number=2),
        ],
    ),
    "drafts paid for themselves exactly": campaign(
        [OFF, ON],
        [
            trial(OFF, points(172.2, counters=counters(512, 0, 0, 0)), number=1),
            trial(ON, points(172.1, counters=DRAFTING), number=2),
        ],
    ),
    "both drafted, and noise hides whether they are equal": campaign(
        [OFF, ON],
        [
            trial(OFF, points(172, counters=DRAFTING, noise=0.1), number=1),
            trial(ON, points(163, counters=DRAFTING, noise=0.1), number=2),
        ],
    ),
    "tensor parallelism": campaign(
        [TP1, TP2], [trial(TP1, points(100), number=1), trial(TP2, points(100.1), number=2)]
    ),
}
SAYS = ("should do different work in every step",)
ABSENT = {
    "a real gain": campaign([OFF, ON], [trial(OFF, points(72), number=1), trial(ON, points(172), number=2)]),
    "a real loss": campaign([OFF, ON], [trial(OFF, points(172), number=1), trial(ON, points(150), number=2)]),
    "two KV types are two values of one choice": campaign(
        [KV_A, KV_B], [trial(KV_A, points(100), number=1), trial(KV_B, points(100), number=2)]
    ),
}
