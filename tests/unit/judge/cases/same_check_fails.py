"""One check that nobody passes."""

from tests.unit.judge.campaigns import campaign, candidate, points, trial

from shakedown.domain.check import CheckResult
from shakedown.domain.words import CheckVerdict, Verdict

A, B, C = (candidate(f"kv={name}", {"kv": name}) for name in ("a", "b", "c"))


def check(name: str, verdict: CheckVerdict) -> CheckResult:
    return CheckResult(
        name=name, verdict=verdict, summary="HTTP 500", seconds=1.0, fails_as=Verdict.GARBAGE, evidence={}
    )


NO_SCHEMA = check("structured_output", CheckVerdict.FAIL)
NO_SENSE = check("token_runs", CheckVerdict.FAIL)
SCHEMA = check("structured_output", CheckVerdict.PASS)

APPEARS = {
    "all that were checked": campaign(
        [A, B],
        [
            trial(A, checks=[NO_SCHEMA], verdict=Verdict.GARBAGE),
            trial(B, checks=[NO_SCHEMA], number=2, verdict=Verdict.GARBAGE),
        ],
    ),
    "one never started": campaign(
        [A, B, C],
        [
            trial(A, checks=[NO_SCHEMA], verdict=Verdict.GARBAGE),
            trial(B, checks=[NO_SCHEMA], number=2, verdict=Verdict.GARBAGE),
            trial(C, number=3, verdict=Verdict.FAILED),
        ],
    ),
}
SAYS = ("structured_output", "HTTP 500", "2 candidates")
ABSENT = {
    "one alone": campaign([A], [trial(A, checks=[NO_SCHEMA], verdict=Verdict.GARBAGE)]),
    "another passed it": campaign(
        [A, B, C],
        [
            trial(A, checks=[NO_SCHEMA], verdict=Verdict.GARBAGE),
            trial(B, checks=[NO_SCHEMA], number=2, verdict=Verdict.GARBAGE),
            trial(C, points(), number=3, checks=[SCHEMA]),
        ],
    ),
    "each fails its own": campaign(
        [A, B],
        [
            trial(A, checks=[NO_SCHEMA], verdict=Verdict.GARBAGE),
            trial(B, checks=[NO_SENSE], number=2, verdict=Verdict.GARBAGE),
        ],
    ),
}
