"""A doubt that the accuracy gate left."""

from tests.unit.judge.campaigns import campaign, candidate, points, trial

from shakedown.domain.check import CheckResult
from shakedown.domain.failure import Symptom
from shakedown.domain.record import CandidateRecord
from shakedown.domain.words import Category, CheckVerdict, Verdict

A = candidate("kv=fp8", {"kv": "fp8"})
LOSSY = CandidateRecord(candidate=A, lossy=("the KV cache is FP8",))
WARNING = Symptom(
    signature="kv-no-scales",
    category=Category.ACCURACY_RISK,
    line_number=9,
    line="no scaling factors",
    title="FP8 KV cache without scales",
)
OTHER = WARNING.model_copy(update={"category": Category.CAPACITY_TOO_SMALL})


def drift(mean_kl: float, decision: str, verdict: CheckVerdict = CheckVerdict.PASS) -> CheckResult:
    return CheckResult(
        name="drift_from_reference", verdict=verdict, summary="drift", seconds=1.0, fails_as=Verdict.INACCURATE,
        evidence={"mean_kl": mean_kl, "limit": 0.05, "decision": decision},
    )  # fmt: skip


APPEARS = {
    "the server warns": campaign([A], [trial(A, points(), warnings=[WARNING])]),
    "lossy and not compared": campaign([LOSSY], [trial(A, points())]),
    "lossy and skipped": campaign([LOSSY], [trial(A, points(), checks=[drift(0.0, "below", CheckVerdict.SKIPPED)])]),
    "close to the limit": campaign([LOSSY], [trial(A, points(), checks=[drift(0.04, "below")])]),
    "undecided": campaign([LOSSY], [trial(A, points(), checks=[drift(0.02, "undecided")])]),
}
SAYS = ("kv=fp8",)
ABSENT = {
    "far below the limit": campaign([LOSSY], [trial(A, points(), checks=[drift(0.001, "below")])]),
    "a warning of another kind": campaign([A], [trial(A, points(), warnings=[OTHER])]),
    "lossless": campaign([A], [trial(A, points())]),
}
