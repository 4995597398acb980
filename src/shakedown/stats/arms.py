"""Measurements of one candidate, ordered as they were made: points within repeats within launches, on a log scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple


class PointKey(NamedTuple):
    """A load point without its repeat: a workload at one concurrency or request rate."""

    workload: str
    concurrency: int | None
    request_rate: float | None

    def __str__(self) -> str:
        level = (
            f"concurrency {self.concurrency}" if self.concurrency is not None else f"{self.request_rate:g} requests/s"
        )
        return f"{self.workload} at {level}"


Launch = Mapping[PointKey, Sequence[float]]
"""One launch: for each point the natural logarithm of its figure of merit (more is better), a value a repeat."""


@dataclass(frozen=True, slots=True)
class Arm:
    """All launches of one candidate."""

    launches: tuple[Launch, ...]

    def points(self) -> set[PointKey]:
        """Points that every launch measured."""
        return set.intersection(*(set(launch) for launch in self.launches)) if self.launches else set()

    def mean(self, point: PointKey) -> float:
        """Mean of the point's logarithms, launches equal."""
        return fmean([fmean(launch[point]) for launch in self.launches])

    def values(self, point: PointKey) -> list[float]:
        """All of the point's logarithms, of every launch and repeat."""
        return [value for launch in self.launches for value in launch[point]]


def point_weights(points: Iterable[PointKey], workload_weights: Mapping[str, float]) -> dict[PointKey, float]:
    """Weights of the objective, summing to one: points equal within a workload, workloads by their weight."""
    points = sorted(points, key=str)
    workloads = {point.workload for point in points}
    total = sum(workload_weights.get(name, 1.0) for name in workloads)
    counts = {name: sum(point.workload == name for point in points) for name in workloads}
    return {point: workload_weights.get(point.workload, 1.0) / total / counts[point.workload] for point in points}


def launch_scores(arm: Arm, weights: Mapping[PointKey, float]) -> list[float]:
    """One score a launch: the weighted mean over points of the mean over repeats."""
    return [sum(weight * fmean(launch[point]) for point, weight in weights.items()) for launch in arm.launches]


def repeat_scores(arm: Arm, weights: Mapping[PointKey, float]) -> list[float]:
    """One score a round of repeats: as many as the point with the fewest repeats has, over all launches."""
    values = {point: [value for launch in arm.launches for value in launch[point]] for point in weights}
    rounds = min((len(repeats) for repeats in values.values()), default=0)
    return [sum(weight * values[point][index] for point, weight in weights.items()) for index in range(rounds)]
