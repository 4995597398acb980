"""Whether a host is equal to another: the same facts, and the reference comes to the same there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shakedown.campaign.enrol import differences
from shakedown.campaign.subject import Subject
from shakedown.domain.record import TrialRecord
from shakedown.domain.spec import CampaignSpec
from shakedown.domain.units import change, ratio
from shakedown.domain.words import Verdict
from shakedown.judge.merit import arm_of
from shakedown.stats.arms import Arm
from shakedown.stats.equivalence import Experiment


def unlike_the_first(subjects: Mapping[str, Subject]) -> dict[str, str]:
    """Hosts whose machine, engine or model is another than the first host's, and in what."""
    (first, measure), *others = subjects.items()
    facts = _facts(measure)
    unlike: dict[str, str] = {}
    for host, subject in others:
        for what, here, there in differences(facts, _facts(subject), one_machine=False):
            unlike.setdefault(host, f"its {what} is {there!r}, on {first} it is {here!r}")
    return unlike


def _facts(subject: Subject) -> dict[str, dict[str, object]]:
    return {"engine": {}, "machine": {}, **subject.facts()}


def difference(
    spec: CampaignSpec, first: str, measure: Sequence[TrialRecord], host: str, trials: Sequence[TrialRecord]
) -> str | None:
    """What the reference's launches on ``host`` say against pooling it with ``first``; None if nothing.

    The verdicts must agree, and the interval of the ratio of speeds must not lie beyond the margin on one side.
    """
    verdicts = {trial.outcome.verdict for trial in measure if trial.outcome is not None}
    for trial in trials:
        if trial.outcome is not None and trial.outcome.verdict not in verdicts:
            return f"the reference is {trial.outcome.verdict.value} there ({trial.outcome.reason}), not so on {first}"
    arms = {first: _arm(spec, measure), host: _arm(spec, trials)}
    if not all(arm.points() for arm in arms.values()):
        return None
    weights = {section.name: section.weight for section in spec.workload}
    found = Experiment(arms, weights, margin=spec.decide.margin, confidence=spec.decide.confidence).compare(host, first)
    if found is None or found.interval is None:
        return None
    low, high = found.interval
    limit = 1 + spec.decide.margin
    if low <= limit and high >= 1 / limit:
        return None
    return f"the reference is {change(found.ratio)} there than on {first} (ratio {ratio(found.ratio, found.interval)})"


def _arm(spec: CampaignSpec, trials: Sequence[TrialRecord]) -> Arm:
    qualified = [trial for trial in trials if trial.outcome is not None and trial.outcome.verdict is Verdict.QUALIFIED]
    return arm_of(qualified, spec.campaign.objective)
