"""The campaign as the findings see it: evidence with verdicts, reference, winner and statistics at hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from shakedown.domain.metric import PointSummary
from shakedown.domain.record import CandidateRecord, TrialRecord
from shakedown.domain.result import Comparison
from shakedown.domain.words import ComparisonStatus, Verdict
from shakedown.judge.evidence import CampaignEvidence
from shakedown.judge.settings import dimension
from shakedown.judge.verdicts import Decision
from shakedown.stats.equivalence import Experiment

_ERRORS = 2.0
"""Standard errors of a difference that noise alone explains."""


@dataclass(frozen=True)
class Judged:
    """What has been decided so far; read-only.

    Attributes:
        evidence: the campaign as stored.
        decisions: candidate id to verdict, reason, failure.
        reference: id of the reference, None while nothing qualified.
        winner: id of the winner, None when nothing qualified and was measured.
        experiment: measurements of the qualified candidates.
        comparisons: pairs over all workloads.
    """

    evidence: CampaignEvidence
    decisions: Mapping[str, Decision]
    reference: str | None
    winner: str | None
    experiment: Experiment
    comparisons: tuple[Comparison, ...]

    @cached_property
    def records(self) -> dict[str, CandidateRecord]:
        """Candidates by id."""
        return {record.candidate.id: record for record in self.evidence.candidates}

    @cached_property
    def trials(self) -> dict[str, list[TrialRecord]]:
        """Finished launches by candidate id, in the order they began."""
        return trials_by_candidate(self.evidence)

    def label(self, candidate_id: str) -> str:
        """The candidate's label, or its id where it has none."""
        record = self.records.get(candidate_id)
        return record.candidate.label if record and record.candidate.label else candidate_id

    def points(self, candidate_id: str) -> list[PointSummary]:
        """All points of all finished launches, whatever the verdict."""
        return [point for trial in self.trials.get(candidate_id, []) for point in trial.points]

    def planned_as(self, candidate_id: str) -> str:
        """Id under which the plan knows a candidate: for one that a remedy made, the one it was made from."""
        planned = {ceiling.candidate_id for ceiling in self.evidence.ceilings}
        here = candidate_id
        while here not in planned and (record := self.records.get(here)) and record.candidate.derived_from:
            here = record.candidate.derived_from
        return here

    def qualified(self) -> list[CandidateRecord]:
        """Candidates that passed every gate, in the order of the plan."""
        return [
            record
            for record in self.evidence.candidates
            if self.decisions[record.candidate.id].verdict is Verdict.QUALIFIED
        ]

    def effective(self, candidate_id: str, key: str) -> object:
        """What the server of the latest launch reported under ``key``; None where it did not say."""
        for trial in reversed(self.trials.get(candidate_id, [])):
            if trial.ready is not None and key in trial.ready.effective:
                return trial.ready.effective[key]
        return None

    @cached_property
    def one_dimension_pairs(self) -> tuple[tuple[str, str, str], ...]:
        """Ids of measured, qualified candidates that differ in one dimension, and its name."""
        measured = [(key, record.candidate) for key, record in self.records.items() if key in self.experiment.arms]
        pairs = ((a, b, dimension(first, second)) for (a, first), (b, second) in itertools.combinations(measured, 2))
        return tuple((a, b, name) for a, b, name in pairs if name is not None)

    def equal_at_every_point(self, a: str, b: str) -> bool:
        """Whether two candidates are within the margin at every point.

        By their estimates; where the two are proven equivalent over all points, a single point may be outside by as
        much as its own repeats explain.
        """
        ratios = self.experiment.point_ratios(a, b)
        over_all = self.experiment.compare(a, b)
        proven = over_all is not None and over_all.status is ComparisonStatus.EQUIVALENT
        limit = math.log1p(self.evidence.margin)
        return bool(ratios) and all(
            abs(math.log(ratio)) <= limit + (_ERRORS * self.experiment.point_error(a, b, point) if proven else 0.0)
            for point, ratio in ratios.items()
        )


def trials_by_candidate(evidence: CampaignEvidence) -> dict[str, list[TrialRecord]]:
    """Finished launches by candidate id, in the order they began."""
    found: dict[str, list[TrialRecord]] = {}
    for trial in evidence.trials:
        if trial.state == "finished":
            found.setdefault(trial.candidate_id, []).append(trial)
    return found
