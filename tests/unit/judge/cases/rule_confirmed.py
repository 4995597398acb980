"""The log named the remedy that the rule named."""

from tests.unit.judge.campaigns import campaign, candidate, points, trial

from shakedown.domain.failure import Failure, Remedy
from shakedown.domain.record import CandidateRecord
from shakedown.domain.words import Category, Stage, Verdict

BARE = candidate("v=q8_0", {"cache-type-v": "q8_0"}, {"v": "q8_0"})
MENDED = candidate("v=q8_0 fa", {"cache-type-v": "q8_0", "flash-attn": "on"}, {"v": "q8_0"}, derived_from=BARE.id)
PRUNED = CandidateRecord(
    candidate=BARE,
    verdict=Verdict.PRUNED,
    rule="v-cache-needs-fa",
    reason="a quantised V cache needs flash attention",
    mended_by=MENDED.id,
)
HOPELESS = PRUNED.model_copy(update={"mended_by": None})


def failure(**remedy: object) -> Failure:
    return Failure(
        category=Category.BAD_ARGUMENTS, signature="s", stage=Stage.BOOT,
        root_line="V cache quantization requires flash_attn",
        remedy=Remedy.model_validate({"advice": "do", **remedy}),
    )  # fmt: skip


SAME = trial(BARE, verdict=Verdict.FAILED, reason="refused", failure=failure(set_args={"flash-attn": "on"}))
OTHER = trial(BARE, verdict=Verdict.FAILED, reason="refused", failure=failure(set_args={"ctx-size": 1}))
NO_REMEDY = trial(BARE, verdict=Verdict.FAILED, reason="refused", failure=failure())
STARTED = trial(BARE, points())

APPEARS = {
    "the same remedy": campaign([PRUNED, MENDED], [SAME]),
    "nothing would have helped": campaign([HOPELESS], [NO_REMEDY]),
}
SAYS = ("v-cache-needs-fa", "did not start")
ABSENT = {
    "another remedy": campaign([PRUNED, MENDED], [OTHER]),
    "it started": campaign([PRUNED, MENDED], [STARTED]),
    "not launched": campaign([PRUNED, MENDED], []),
}
