"""Ratio of two candidates with its interval, and what it says: better, equivalent, worse or inconclusive."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean

from scipy.special import stdtr, stdtrit

from shakedown.domain.words import ComparisonStatus
from shakedown.stats.arms import Arm, PointKey, launch_scores, point_weights, repeat_scores
from shakedown.stats.studentized_range import studentized_range_sf
from shakedown.stats.variance import Components, Spread, difference_error, pooled_spread, spread_of, variance_components

_LAUNCH_DF = 2
"""Launches beyond the first, over all candidates, from which on launch variance counts as measured."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """``a`` over ``b`` of the objective (more is better), over the points that every launch of both has.

    Attributes:
        ratio: point estimate.
        interval: two-sided, for this pair alone, at the experiment's confidence; None without replicates.
        status: better and worse hold for all pairs at once (see :class:`Experiment`).
        equivalence_half_width: half of the interval that must fit into the margin, as a ratio minus one; None without
            replicates.
        points: how many points it is over.
    """

    ratio: float
    interval: tuple[float, float] | None
    status: ComparisonStatus
    equivalence_half_width: float | None
    points: int


@dataclass(frozen=True)
class Experiment:
    """All measured candidates of a campaign, compared on one footing.

    The unit of replication is the launch where launches were repeated, because a launch shifts all of its points
    together; else it is a round of repeats, and the variance between launches is unknown. Spreads are pooled over all
    candidates (:mod:`shakedown.stats.variance`). Equivalence is two one-sided t tests, each at 1 - confidence, against
    ``margin``. Better and worse are two-sided tests adjusted for all pairs of candidates (studentized range with
    Welch's degrees of freedom, as Games and Howell 1976), so that picking the best afterwards is allowed for.
    docs/statistics.md has the reasons and the calibration.

    Attributes:
        arms: candidate id to its measurements.
        workload_weights: weight of each workload; 1 where missing.
        margin: candidates whose ratio is within 1/(1 + margin) and 1 + margin are equal for the purpose.
        confidence: of intervals and verdicts.
        planned: number of comparisons that are looked at, where they are fixed beforehand; better and worse are then
            adjusted for so many (Bonferroni) instead of for all pairs.
    """

    arms: Mapping[str, Arm]
    workload_weights: Mapping[str, float]
    margin: float
    confidence: float
    planned: int | None = None
    _spreads: dict[frozenset[PointKey], Spread | None] = field(default_factory=dict, repr=False, compare=False)
    _ratios: dict[tuple[str, str, str | None], Ratio | None] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def launch_variance_measured(self) -> bool:
        """Whether launches were repeated often enough that intervals contain their variance."""
        return sum(max(len(arm.launches) - 1, 0) for arm in self.arms.values()) >= _LAUNCH_DF

    def components(self) -> Components:
        """Scatter between launches and between rounds of repeats of a launch, over all candidates."""
        rounds = []
        for arm in self.arms.values():
            weights = point_weights(arm.points(), self.workload_weights)
            rounds.append([repeat_scores(Arm((launch,)), weights) for launch in arm.launches])
        return variance_components(rounds)

    def common_points(self, a: str, b: str, workload: str | None = None) -> set[PointKey]:
        """Points that every launch of both candidates measured."""
        common = self.arms[a].points() & self.arms[b].points()
        return {point for point in common if workload is None or point.workload == workload}

    def point_ratios(self, a: str, b: str) -> dict[PointKey, float]:
        """Ratio at each common point, without intervals."""
        first, second = self.arms[a], self.arms[b]
        return {
            point: math.exp(first.mean(point) - second.mean(point))
            for point in sorted(self.common_points(a, b), key=str)
        }

    def point_error(self, a: str, b: str, point: PointKey) -> float:
        """Standard error of the log ratio at one point, the scatter of its values pooled over all candidates.

        0 where nothing was measured twice.
        """
        values = [arm.values(point) for arm in self.arms.values() if point in arm.points()]
        freedom = sum(len(repeats) - 1 for repeats in values)
        if freedom <= 0:
            return 0.0
        squares = sum((value - fmean(repeats)) ** 2 for repeats in values for value in repeats)
        counts = [len(self.arms[key].values(point)) for key in (a, b)]
        return math.sqrt(squares / freedom * sum(1 / count for count in counts))

    def compare(self, a: str, b: str, workload: str | None = None) -> Ratio | None:
        """Compare two candidates over all workloads or one; None when they have no point in common."""
        key = (a, b, workload)
        if key not in self._ratios:
            self._ratios[key] = self._compare(a, b, workload)
        return self._ratios[key]

    def _compare(self, a: str, b: str, workload: str | None) -> Ratio | None:
        points = self.common_points(a, b, workload)
        if not points:
            return None
        weights = point_weights(points, self.workload_weights)
        scores_a, scores_b = self._scores(self.arms[a], weights), self._scores(self.arms[b], weights)
        difference = fmean(scores_a) - fmean(scores_b)
        pooled = self._pooled_spread(weights)
        if pooled is None:
            return Ratio(math.exp(difference), None, ComparisonStatus.INCONCLUSIVE, None, len(points))
        error, df = difference_error(
            (spread_of(scores_a, pooled), len(scores_a)), (spread_of(scores_b, pooled), len(scores_b)), pooled
        )
        alpha = 1 - self.confidence
        half = float(stdtrit(df, 1 - alpha / 2)) * error
        equivalence_half = float(stdtrit(df, 1 - alpha)) * error
        limit = math.log1p(self.margin)
        if abs(difference) + equivalence_half < limit:
            status = ComparisonStatus.EQUIVALENT
        elif self._differs(abs(difference) / error, df):
            status = ComparisonStatus.BETTER if difference > 0 else ComparisonStatus.WORSE
        else:
            status = ComparisonStatus.INCONCLUSIVE
        return Ratio(
            ratio=math.exp(difference),
            interval=(math.exp(difference - half), math.exp(difference + half)),
            status=status,
            equivalence_half_width=math.expm1(equivalence_half),
            points=len(points),
        )

    def _scores(self, arm: Arm, weights: Mapping[PointKey, float]) -> list[float]:
        return launch_scores(arm, weights) if self.launch_variance_measured else repeat_scores(arm, weights)

    def _pooled_spread(self, weights: Mapping[PointKey, float]) -> Spread | None:
        key = frozenset(weights)
        if key not in self._spreads:
            able = [arm for arm in self.arms.values() if key <= arm.points()]
            self._spreads[key] = pooled_spread([self._scores(arm, weights) for arm in able])
        return self._spreads[key]

    def _differs(self, statistic: float, df: float) -> bool:
        """Whether a pair differs, allowing for all pairs of candidates, or for the planned comparisons."""
        alpha = 1 - self.confidence
        p = 2 * float(stdtr(df, -statistic))
        if self.planned is not None:
            return p * self.planned < alpha
        arms = len(self.arms)
        pairs = arms * (arms - 1) / 2
        # The adjusted p lies between these two.
        if p >= alpha or p * pairs < alpha:
            return p < alpha
        return studentized_range_sf(statistic * math.sqrt(2), arms, df) < alpha
