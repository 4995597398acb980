"""One result against another: what got better, what got worse, what stopped working.

Unlike a campaign's own verdicts, the pairs are fixed beforehand: each candidate before and after the change, as a whole
and at each load level. Better and worse are therefore adjusted for the number of these tests (Bonferroni), equivalence
is not, and spreads are pooled over all candidates of both sides (docs/statistics.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from shakedown.domain.comparison import (
    CandidateChange,
    ComparisonResult,
    ComparisonRule,
    LevelChange,
    SettingChange,
)
from shakedown.domain.errors import UserError
from shakedown.domain.metric import Distribution, PointSummary
from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.domain.units import ratio as ratio_words
from shakedown.domain.words import ComparisonStatus, Objective, Verdict
from shakedown.judge.compare_notes import notes, side_of
from shakedown.judge.merit import counts, merit, point_key
from shakedown.judge.pairing import (
    Pair,
    changed_workloads,
    machine_differences,
    model_differences,
    pairs,
)
from shakedown.stats.arms import Arm, Launch, PointKey
from shakedown.stats.equivalence import Experiment, Ratio

FAILING = frozenset(
    {Verdict.PRUNED, Verdict.FAILED, Verdict.CRASHED, Verdict.HUNG, Verdict.GARBAGE, Verdict.INACCURATE}
)


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """What may differ from the results' own decision rules, and what the user allows."""

    objective: Objective | None = None
    margin: float | None = None
    confidence: float | None = None
    candidate: str | None = None
    """Label or id of the one candidate to compare; None: all."""
    other_machine: bool = False
    other_model: bool = False


def compare(a: CampaignResult, b: CampaignResult, options: CompareOptions) -> ComparisonResult:
    """Compare ``b`` (after) with ``a`` (before). Pure: the same results give the same comparison.

    Raises:
        UserError: machines or models differ and that is not allowed, or the candidate named is in neither.
    """
    _refuse("machines", machine_differences(a, b), "--other-machine", allowed=options.other_machine)
    _refuse("models", model_differences(a, b), "--other-model", allowed=options.other_model)
    found = pairs(a, b, options.candidate)
    changed = changed_workloads(a, b, found)
    objective = options.objective or Objective(b.campaign.decision.objective)
    arms = _arms(a, b, found, objective, leave_out=changed)
    tests = [(label, key) for label in _measured(found, arms) for key in (None, *_common(arms, label))]
    rule = ComparisonRule(
        objective=objective,
        margin=options.margin or max(a.campaign.decision.margin, b.campaign.decision.margin),
        confidence=options.confidence or max(a.campaign.decision.confidence, b.campaign.decision.confidence),
        launch_variance_measured=Experiment(arms, {}, margin=1, confidence=0.5).launch_variance_measured,
        comparisons=len(tests),
    )
    by_label = {label: (before, after) for label, before, after in found}
    experiments: dict[PointKey | None, Experiment] = {}
    levels = []
    for label, key in tests:
        if key not in experiments:
            experiments[key] = _experiment(arms, key, rule, _weights(b))
        outcome = experiments[key].compare(_after(label), _before(label))
        if outcome is not None:
            levels.append(_level(label, key, outcome, arms, by_label[label]))
    candidates = tuple(_candidate(pair) for pair in found)
    regressions = tuple(_regressions(candidates, levels))
    return ComparisonResult(
        a=side_of(a),
        b=side_of(b),
        decision=rule,
        levels=tuple(levels),
        candidates=candidates,
        notes=tuple(
            notes(a, b, found, changed=changed, only_repeats=bool(levels) and not rule.launch_variance_measured)
        ),
        regressions=regressions,
        status=_status(levels, regressions),
    )


def split_launches(points: Sequence[PointSummary]) -> list[list[PointSummary]]:
    """Points of a candidate by launch: a load point and repeat that comes again is the next launch's."""
    launches: list[list[PointSummary]] = []
    seen: set[tuple[PointKey, int]] = set()
    for point in points:
        place = (point_key(point), point.repeat)
        if not launches or place in seen:
            launches.append([])
            seen = set()
        seen.add(place)
        launches[-1].append(point)
    return launches


def _refuse(what: str, differences: Sequence[str], flag: str, *, allowed: bool) -> None:
    if differences and not allowed:
        raise UserError(
            f"the results come from different {what}: {'; '.join(differences)}. Compare them all the same with {flag}"
        )


def _before(label: str) -> str:
    return f"before {label}"


def _after(label: str) -> str:
    return f"after {label}"


def _arms(
    a: CampaignResult, b: CampaignResult, found: Sequence[Pair], objective: Objective, *, leave_out: Mapping[str, str]
) -> dict[str, Arm]:
    """Measurements of every qualified candidate on either side; those without a partner widen the pooled spread."""
    named = {_before(label): before for label, before, _ in found} | {_after(label): after for label, _, after in found}
    paired = {one.id for one in named.values()}
    named |= {f"{side} alone {one.id}": one for side, result in (("before", a), ("after", b))
              for one in result.candidates if one.id not in paired}  # fmt: skip
    arms = {}
    for name, candidate in named.items():
        if candidate.verdict is Verdict.QUALIFIED:
            arm = Arm(tuple(_launches(candidate, objective, leave_out)))
            if arm.points():
                arms[name] = arm
    return arms


def _launches(candidate: CandidateResult, objective: Objective, leave_out: Mapping[str, str]) -> Iterator[Launch]:
    for points in split_launches(candidate.points):
        launch: dict[PointKey, list[float]] = {}
        for point in points:
            value = merit(point, objective)
            if value is not None and counts(point) and point.workload not in leave_out:
                launch.setdefault(point_key(point), []).append(math.log(value))
        if launch:
            yield launch


def _measured(found: Sequence[Pair], arms: Mapping[str, Arm]) -> list[str]:
    return [label for label, _, _ in found if {_before(label), _after(label)} <= arms.keys() and _common(arms, label)]


def _common(arms: Mapping[str, Arm], label: str) -> list[PointKey]:
    common = arms[_before(label)].points() & arms[_after(label)].points()
    return sorted(common, key=lambda key: (key.workload, key.concurrency or key.request_rate or 0.0))


def _experiment(
    arms: Mapping[str, Arm], key: PointKey | None, rule: ComparisonRule, weights: Mapping[str, float]
) -> Experiment:
    """All measurements of one level, or of all."""
    kept = arms
    if key is not None:
        kept = {
            name: Arm(tuple({key: launch[key]} for launch in arm.launches))
            for name, arm in arms.items()
            if key in arm.points()
        }
    return Experiment(kept, weights, margin=rule.margin, confidence=rule.confidence, planned=rule.comparisons)


def _weights(result: CampaignResult) -> dict[str, float]:
    declared = ((workload.get("name"), workload.get("weight")) for workload in result.campaign.workloads)
    return {str(name): float(weight) for name, weight in declared if isinstance(weight, int | float)}


def _level(
    label: str,
    key: PointKey | None,
    outcome: Ratio,
    arms: Mapping[str, Arm],
    sides: tuple[CandidateResult, CandidateResult],
) -> LevelChange:
    whole = key is None
    return LevelChange(
        candidate=label,
        workload=None if key is None else key.workload,
        concurrency=None if key is None else key.concurrency,
        request_rate=None if key is None else key.request_rate,
        before=None if key is None else math.exp(arms[_before(label)].mean(key)),
        after=None if key is None else math.exp(arms[_after(label)].mean(key)),
        ratio=outcome.ratio,
        interval=outcome.interval,
        status=outcome.status,
        ttft_p50_s=(None, None) if whole else _medians(sides, key, lambda point: point.ttft_s),
        tpot_p50_s=(None, None) if whole else _medians(sides, key, lambda point: point.tpot_s),
    )


def _medians(
    sides: tuple[CandidateResult, CandidateResult],
    key: PointKey | None,
    metric: Callable[[PointSummary], Distribution | None],
) -> tuple[float | None, float | None]:
    found = [
        [values.p50 for point in side.points if point_key(point) == key and (values := metric(point)) is not None]
        for side in sides
    ]
    before, after = (fmean(values) if values else None for values in found)
    return before, after


def _candidate(pair: Pair) -> CandidateChange:
    label, before, after = pair
    failing = before.verdict is Verdict.QUALIFIED and after.verdict in FAILING
    keys = sorted(before.effective.keys() & after.effective.keys())
    return CandidateChange(
        candidate=label,
        before=before.verdict,
        after=after.verdict,
        newly_failing=failing,
        reason=after.reason if failing else "",
        root_line=after.failure.root_line if failing and after.failure else None,
        settings=tuple(
            SettingChange(key=key, before=before.effective[key], after=after.effective[key])
            for key in keys
            if before.effective[key] != after.effective[key]
        ),
    )


def _regressions(candidates: Sequence[CandidateChange], levels: Sequence[LevelChange]) -> Iterator[str]:
    for candidate in candidates:
        if candidate.newly_failing:
            yield f"{candidate.candidate} qualified before and is {candidate.after.value} now: {candidate.reason}"
    for level in levels:
        if level.status is ComparisonStatus.WORSE:
            yield f"{level.candidate} is worse {place(level)}: {ratio_words(level.ratio, level.interval)}"


def place(level: LevelChange) -> str:
    """Where a figure was measured, in words."""
    if level.workload is None:
        return "over all load levels"
    return f"in {PointKey(level.workload, level.concurrency, level.request_rate)}"


def _status(levels: Sequence[LevelChange], regressions: Sequence[str]) -> ComparisonStatus | None:
    """Worse if anything is; else by the candidates as wholes, the least certain of them."""
    if regressions:
        return ComparisonStatus.WORSE
    wholes = {level.status for level in levels if level.workload is None}
    order = (ComparisonStatus.INCONCLUSIVE, ComparisonStatus.BETTER, ComparisonStatus.EQUIVALENT)
    return next((status for status in order if status in wholes), None)
