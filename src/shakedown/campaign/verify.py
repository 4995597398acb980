"""Does production still match its campaign? Effective settings, gates, speed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from shakedown.campaign.requests import REFERENCE_FILE
from shakedown.checks.detect import find_server
from shakedown.checks.runner import run_checks
from shakedown.client.clock import wall_time
from shakedown.client.control import ControlClient
from shakedown.domain.base import Scalar
from shakedown.domain.check import CheckResult
from shakedown.domain.comparison import ComparisonResult, SettingChange
from shakedown.domain.errors import UserError
from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.domain.trial import Gates
from shakedown.domain.verification import Verification
from shakedown.domain.words import CheckVerdict, GateLevel
from shakedown.domain.workload import Target, Workload
from shakedown.engines.base import Engine
from shakedown.judge.compare import CompareOptions, compare
from shakedown.load.bench import BenchOptions, BenchWatch, run_bench
from shakedown.load.server import identify

SPECULATION = "speculative_algorithm"
"""The one setting whose absence has a meaning: no speculation."""


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """What to look at, and how closely."""

    candidate: str | None = None
    """Label or id; None: the winner."""
    level: GateLevel = GateLevel.QUICK
    ignore: tuple[str, ...] = ()
    """Effective settings that may differ."""
    load: bool = True
    """False leaves the speed alone: nothing but single requests reaches production."""
    repeats: int | None = None
    margin: float | None = None


def verify(
    target: Target, result: CampaignResult, folder: Path, options: VerifyOptions, *, tell: Callable[[str], None]
) -> Verification:
    """Hold a running server against the candidate that a campaign proved.

    Args:
        target: where the server is.
        result: the campaign.
        folder: the campaign's folder; where it holds a reference, gates above quick compare with it.
        options: what to look at.
        tell: told what is being done.

    Raises:
        UserError: nobody answers, or there is no candidate to compare with.
        ClientError: the server answers no control request.
    """
    candidate = _candidate(result, options.candidate)
    target, engine = find_server(target)
    with ControlClient(target.base_url, api_key=target.api_key, verify_tls=target.verify_tls) as client:
        effective = identify(client).effective
    known = [key for key in _comparable(candidate.effective, effective) if key not in options.ignore]
    settings = tuple(
        SettingChange(key=key, before=candidate.effective[key], after=effective[key])
        for key in known
        if candidate.effective[key] != effective[key]
    )
    tell(f"{len(known)} effective settings read, {len(settings)} differ; running the gates at level {options.level}")
    checks = _check(target, engine, _gates(result, folder, options), tell)
    comparison = None
    # A server that answers garbage gets no speed.
    if options.load and all(check.verdict is not CheckVerdict.FAIL for check in checks):
        comparison = _speed(target, result, candidate, options, tell)
    deviations = tuple(_deviations(settings, checks, comparison))
    return Verification(
        at=wall_time(),
        base_url=target.base_url,
        campaign=result.campaign.name,
        folder=result.campaign.folder,
        candidate=candidate.label or candidate.id,
        settings_read=len(known),
        settings=settings,
        ignored=options.ignore,
        checks=checks,
        comparison=comparison,
        deviations=deviations,
        verdict=CheckVerdict.FAIL if deviations else CheckVerdict.PASS,
    )


def _candidate(result: CampaignResult, wanted: str | None) -> CandidateResult:
    if wanted is None:
        if result.winner is None:
            raise UserError(f"{result.campaign.folder}: no candidate qualified; name the one that runs: --candidate")
        wanted = result.winner.id
    found = next((one for one in result.candidates if wanted in {one.id, one.label}), None)
    if found is None:
        labels = ", ".join(one.label or one.id for one in result.candidates)
        raise UserError(f"--candidate {wanted!r}: the campaign has none of this label or id; it has {labels}")
    return found


def _comparable(campaign: Mapping[str, Scalar | None], server: Mapping[str, Scalar | None]) -> Iterator[str]:
    """Keys that both know. A campaign also read the log, of which a running server no longer tells."""
    for key in campaign:
        either = key == SPECULATION and key in server
        if either or (campaign[key] is not None and server.get(key) is not None):
            yield key


def _gates(result: CampaignResult, folder: Path, options: VerifyOptions) -> Gates:
    reference = folder / REFERENCE_FILE
    inputs = [
        int(str(workload["input_tokens"])) for workload in result.campaign.workloads if "input_tokens" in workload
    ]
    compare_with = options.level is not GateLevel.QUICK and reference.is_file()
    return Gates(
        level=options.level,
        reference_file=str(reference) if compare_with else None,
        context_tokens=max(inputs, default=1024),
    )


def _check(target: Target, engine: Engine | None, gates: Gates, tell: Callable[[str], None]) -> tuple[CheckResult, ...]:
    return run_checks(
        target, engine, gates, on_result=lambda check: tell(f"  {check.verdict.value:8}{check.name}: {check.summary}")
    ).checks


def _speed(
    target: Target,
    result: CampaignResult,
    candidate: CandidateResult,
    options: VerifyOptions,
    tell: Callable[[str], None],
) -> ComparisonResult:
    """Measure the campaign's load points again and compare them with the candidate's."""
    points = []
    for declared in result.campaign.workloads:
        workload = Workload.model_validate(declared)
        # The server has been running: prompts that it may have seen would be answered from its prefix cache.
        update = {"seed": int(wall_time()), "repeats": options.repeats or workload.repeats}
        measured = run_bench(
            target,
            workload.model_copy(update=update),
            options=BenchOptions(),
            watch=BenchWatch(
                on_server=lambda _: None,
                on_point_start=lambda plan: tell(
                    f"  loading: {plan.workload.name}, {plan.level}, repeat {plan.repeat}"
                ),
                on_progress=lambda _: None,
                on_point=lambda _: None,
            ),
        )
        points += list(measured.points)
    now = candidate.model_copy(update={"points": tuple(points), "launches": 1})
    after = result.model_copy(update={"candidates": (now,), "winner": None, "findings": ()})
    wanted = CompareOptions(candidate=candidate.id, margin=options.margin)
    return compare(result, after, wanted)


def _deviations(
    settings: tuple[SettingChange, ...], checks: tuple[CheckResult, ...], comparison: ComparisonResult | None
) -> Iterator[str]:
    for setting in settings:
        yield f"{setting.key} is {setting.after}, the campaign had {setting.before}"
    for check in checks:
        if check.verdict is CheckVerdict.FAIL:
            yield f"check {check.name} failed: {check.summary}"
    if comparison is not None:
        yield from comparison.regressions
        if not comparison.levels:
            yield "no load point of the campaign could be measured"
