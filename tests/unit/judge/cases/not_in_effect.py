"""Settings or counters that contradict what was asked."""

from tests.unit.judge.campaigns import campaign, candidate, counters, points, trial

PLAIN = candidate("baseline", {}, {"s": "off"})
SPEC = candidate("s=mtp", {"speculative-algorithm": "NEXTN"}, {"s": "mtp"})
KV = candidate("kv", {"kv-cache-dtype": "bf16"})
AUTO = candidate("kv", {"kv-cache-dtype": "auto"})

APPEARS = {
    "asked, and no drafts": campaign([SPEC], [trial(SPEC, points(counters=counters(512, 0, 0, 0)))]),
    "asked, and the server says off": campaign(
        [SPEC], [trial(SPEC, points(), effective={"speculative_algorithm": None})]
    ),
    "not asked, and drafts": campaign([PLAIN], [trial(PLAIN, points(counters=counters(512, 200, 200, 100)))]),
    "not asked, and the server says on": campaign(
        [PLAIN], [trial(PLAIN, points(), effective={"speculative_algorithm": "EAGLE"})]
    ),
    "another KV type": campaign([KV], [trial(KV, points(), effective={"kv_cache_dtype": "fp8_e4m3"})]),
}
SAYS = ("asked",)
ABSENT = {
    "speculation as asked": campaign(
        [PLAIN, SPEC],
        [
            trial(PLAIN, points(counters=counters(512, 0, 0, 0)), effective={"speculative_algorithm": None}, number=1),
            trial(
                SPEC,
                points(150, counters=counters(512, 200, 200, 100)),
                effective={"speculative_algorithm": "EAGLE"},
                number=2,
            ),
        ],
    ),
    "another spelling of the same type": campaign(
        [KV], [trial(KV, points(), effective={"kv_cache_dtype": "torch.bfloat16"})]
    ),
    "left to the server": campaign([AUTO], [trial(AUTO, points(), effective={"kv_cache_dtype": "fp8_e4m3"})]),
    "the server does not say": campaign([KV, SPEC], [trial(KV, points(), number=1), trial(SPEC, points(), number=2)]),
}
