"""Is what the statistics say true as often as they say? Simulated campaigns whose truth is known.

    python -m benchmarks.stats.calibration            print the tables (about two minutes)
    python -m benchmarks.stats.calibration --update   and put them into docs/statistics.md

Each run simulates a whole campaign: six load points in two workloads, every launch with an effect of its own on all of
its points and a smaller one on each, every repeat with noise. All effects are normal on the log scale.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shakedown.domain.words import ComparisonStatus
from shakedown.stats.arms import Arm, PointKey
from shakedown.stats.bootstrap import Statistic, bootstrap_ratio
from shakedown.stats.equivalence import Experiment, Ratio

POINTS = [PointKey(workload, level, None) for workload in ("text", "code") for level in (1, 4, 16)]
MARGIN = 0.02
CONFIDENCE = 0.95
DOCUMENT = Path(__file__).parents[2] / "docs" / "statistics.md"


@dataclass(frozen=True)
class World:
    """How a simulated campaign scatters; standard deviations are relative."""

    arms: int = 2
    launches: int = 3
    repeats: int = 3
    launch_sd: float = 0.03
    launch_point_sd: float = 0.01
    repeat_sd: float = 0.01
    spreads: tuple[float, ...] = (1.0,)
    """Each candidate's scatter is one of these times the above, at random."""

    def arm(self, rng: np.random.Generator, log_speed: float) -> Arm:
        """Draw one candidate's measurements."""
        scale = rng.choice(self.spreads)
        launches = []
        for _ in range(self.launches):
            of_launch = rng.normal(0, scale * self.launch_sd)
            of_points = rng.normal(0, scale * self.launch_point_sd, len(POINTS))
            noise = rng.normal(0, scale * self.repeat_sd, (len(POINTS), self.repeats))
            values = log_speed + of_launch + of_points[:, None] + noise
            launches.append({point: values[index].tolist() for index, point in enumerate(POINTS)})
        return Arm(tuple(launches))

    def campaign(self, rng: np.random.Generator, log_ratio: float) -> Experiment:
        """Draw a campaign: candidate ``0`` is faster than all others, which are identical, by ``log_ratio``."""
        arms = {str(index): self.arm(rng, log_ratio if index == 0 else 0.0) for index in range(self.arms)}
        return Experiment(arms, {}, margin=MARGIN, confidence=CONFIDENCE)


@dataclass(frozen=True)
class Rates:
    """Shares of simulated campaigns."""

    covered: float
    """The interval of the ratio of two candidates contains the truth."""
    different: float
    """These two are called better or worse."""
    better: float
    """The first is called better."""
    equivalent: float
    """They are called equivalent."""
    any_slower: float
    """Some candidate is called slower than the fastest."""


def simulate(world: World, ratio: float, *, runs: int, seed: int = 1, family: bool = False) -> Rates:
    """Simulate ``runs`` campaigns with a true ``ratio`` of candidate 0 to 1; ``family`` looks at all candidates."""
    rng = np.random.default_rng(seed)
    results: list[Ratio] = []
    slower = 0
    for _ in range(runs):
        campaign = world.campaign(rng, math.log(ratio))
        result = campaign.compare("0", "1")
        assert result is not None
        results.append(result)
        slower += family and _any_slower(campaign)
    return Rates(
        covered=_share(r.interval is not None and r.interval[0] <= ratio <= r.interval[1] for r in results),
        different=_share(r.status in (ComparisonStatus.BETTER, ComparisonStatus.WORSE) for r in results),
        better=_share(r.status is ComparisonStatus.BETTER for r in results),
        equivalent=_share(r.status is ComparisonStatus.EQUIVALENT for r in results),
        any_slower=slower / runs,
    )


def bootstrap_coverage(launches: int, statistic: Statistic, *, runs: int, resamples: int = 400, seed: int = 3) -> float:
    """Share of runs in which the bootstrap interval of two identical servers' ratio contains 1.

    Each launch has two repeats of 150 requests with log-normal latencies, and an effect of 3 % of its own.
    """
    rng = np.random.default_rng(seed)
    covered = 0
    for _ in range(runs):
        sides = [
            [np.exp(effect + rng.normal(0, 0.3, (2, 150))).tolist() for effect in rng.normal(0, 0.03, launches)]
            for _ in range(2)
        ]
        interval = bootstrap_ratio(sides[0], sides[1], statistic, resamples=resamples).interval
        covered += interval is not None and interval[0] <= 1 <= interval[1]
    return covered / runs


def launches_needed(world: World, ratio: float, power: float, *, runs: int, most: int = 40) -> tuple[int, float] | None:
    """Fewest launches a candidate with which a true ``ratio`` is found in a share ``power`` of campaigns."""
    for launches in range(2, most + 1):
        enough = World(**{**vars(world), "launches": launches})
        found = simulate(enough, ratio, runs=runs, seed=launches).better
        if found >= power:
            return launches, found
    return None


def _any_slower(campaign: Experiment) -> bool:
    fastest = max(campaign.arms, key=lambda name: sum(campaign.arms[name].mean(point) for point in POINTS))
    ratios = (campaign.compare(name, fastest) for name in campaign.arms if name != fastest)
    return any(ratio is not None and ratio.status is ComparisonStatus.WORSE for ratio in ratios)


def _share(values: Iterable[bool]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


WORLDS = {
    "2 candidates, 2 launches": World(launches=2),
    "2 candidates, 3 launches": World(launches=3),
    "2 candidates, 5 launches": World(launches=5),
    "2 candidates, 10 launches": World(launches=10),
    "12 candidates, 2 launches": World(arms=12, launches=2),
    "12 candidates, 2 launches, spreads twofold apart": World(arms=12, launches=2, spreads=(0.7, 1.0, 1.4)),
    "12 candidates, 2 launches, spreads fourfold apart": World(arms=12, launches=2, spreads=(0.5, 1.0, 2.0)),
    "12 candidates, 1 launch, 3 repeats, no launch effect": World(
        arms=12, launches=1, launch_sd=0.0, launch_point_sd=0.0, repeat_sd=0.02
    ),
    "12 candidates, 1 launch, 2 repeats, no launch effect": World(
        arms=12, launches=1, repeats=2, launch_sd=0.0, launch_point_sd=0.0, repeat_sd=0.02
    ),
    "12 candidates, 1 launch, 3 repeats, launch effect of 3 % ignored": World(arms=12, launches=1),
}


def calibration_table(runs: int) -> list[str]:
    """What is said against what is true, one world a line."""
    rows = [
        (
            "| campaign | interval covers (95 %) | identical called different (≤ 5 %) | "
            "any of identical called slower than the best (≤ 5 %) | at the margin called equivalent (≤ 5 %) |"
        ),
        "| --- | --- | --- | --- | --- |",
    ]
    for name, world in WORLDS.items():
        same = simulate(world, 1.0, runs=runs, family=True)
        edge = simulate(world, 1 + MARGIN, runs=runs, seed=2)
        cells = (same.covered, same.different, same.any_slower, edge.equivalent)
        rows.append(f"| {name} | " + " | ".join(f"{100 * cell:.1f} %" for cell in cells) + " |")
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def power_table(runs: int) -> list[str]:
    """How many launches find a difference of 5 %."""
    rows = ["| launch effect | candidates | launches for 90 % | found |", "| --- | --- | --- | --- |"]
    for launch_sd in (0.01, 0.02, 0.03):
        for arms in (2, 6):
            world = World(arms=arms, launch_sd=launch_sd)
            needed = launches_needed(world, 1.05, 0.9, runs=runs)
            told = f"{needed[0]} | {100 * needed[1]:.1f} %" if needed else "more than 40 | "
            rows.append(f"| {100 * launch_sd:.0f} % | {arms} | {told} |")
            print(rows[-1], file=sys.stderr, flush=True)
    return rows


def _mean(values: NDArray[np.float64]) -> float:
    return float(np.mean(values))


def _p99(values: NDArray[np.float64]) -> float:
    return float(np.percentile(values, 99))


def bootstrap_table(runs: int) -> list[str]:
    """Coverage of the bootstrap interval for a mean and for a p99; a run costs a hundred times one of the others."""
    rows = ["| launches | ratio of means | ratio of p99s |", "| --- | --- | --- |"]
    for launches in (2, 3, 5, 10):
        shares = [bootstrap_coverage(launches, statistic, runs=min(runs, 400)) for statistic in (_mean, _p99)]
        rows.append(f"| {launches} | " + " | ".join(f"{100 * share:.1f} %" for share in shares) + " |")
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Calibrate intervals and verdicts on simulated campaigns.")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--update", action="store_true", help=f"put the tables into {DOCUMENT.name}")
    parser.add_argument("--only", choices=TABLES, help="one of the tables")
    options = parser.parse_args(arguments)
    for name, table in TABLES.items():
        if options.only in (None, name):
            rows = table(options.runs)
            print("\n".join(rows), end="\n\n")
            if options.update:
                _put(name, rows)


def _put(name: str, rows: Sequence[str]) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    begin, end = f"<!-- {name} -->\n", f"<!-- end {name} -->"
    head, rest = text.split(begin)
    DOCUMENT.write_text(head + begin + "\n".join(rows) + "\n" + end + rest.split(end)[1], encoding="utf-8")


TABLES = {"calibration": calibration_table, "power": power_table, "bootstrap": bootstrap_table}


if __name__ == "__main__":
    main()
