"""Print the tables of a folder that ``compare`` filled, as Markdown: ``python -m benchmarks.search.table DIR``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from benchmarks.search.families import FAMILIES

KINDS = ("staged", "random", "grid", "tpe")
FOUND = 0.95
Curves = npt.NDArray[np.float32]


def load(folder: Path, family: str, kind: str) -> tuple[Curves, npt.NDArray[np.int64]] | None:
    """Read all campaigns: regret after each launch, shape (runs, launches), and the launches each took."""
    parts = [np.load(file) for file in sorted(folder.glob(f"{family}.{kind}.*.npz"))]
    if not parts:
        return None
    longest = max(part["regrets"].shape[1] for part in parts)
    curves = [np.pad(part["regrets"], ((0, 0), (0, longest - part["regrets"].shape[1])), "edge") for part in parts]
    return np.concatenate(curves), np.concatenate([part["lengths"] for part in parts])


def needed(curves: Curves, tolerance: float) -> int | None:
    """First launch from which on the share of runs within the tolerance stays at 95 %; None if it never does."""
    share = (curves <= tolerance).mean(axis=0)
    missing = np.flatnonzero(share < FOUND)
    first = int(missing[-1]) + 2 if missing.size else 1
    return first if first <= curves.shape[1] else None


def at(curves: Curves, launch: int) -> float:
    """Mean regret after ``launch`` launches, in per cent; the choice of an ended campaign stands."""
    return 100 * float(curves[:, min(launch, curves.shape[1]) - 1].mean())


def excess(staged: Curves, random: Curves, first: int) -> tuple[float, int]:
    """Largest mean regret of ``staged`` above ``random`` from ``first`` launches on, in per cent, and where it lies."""
    longest = max(staged.shape[1], random.shape[1])
    difference = [at(staged, n) - at(random, n) for n in range(first, longest + 1)]
    worst = int(np.argmax(difference))
    return difference[worst], first + worst


def launches_needed(folder: Path) -> None:
    """Print the first table: launches from which on the choice is within the tolerance in 95 % of the runs."""
    print("| landscape | arms | " + " | ".join(KINDS) + " | staged ends after (mean, most) |")
    print("| --- " * (len(KINDS) + 3) + "|")
    for family, draw in FAMILIES.items():
        landscape = draw(0)
        cells = []
        for kind in KINDS:
            data = load(folder, family, kind)
            cells.append("not played" if data is None else cell(data[0], landscape.tolerance))
        staged = load(folder, family, "staged")
        took = f"{staged[1].mean():.0f}, {staged[1].max()}" if staged else ""
        print(f"| {family} | {len(landscape.arms)} | {' | '.join(cells)} | {took} |")


def cell(curves: Curves, tolerance: float) -> str:
    """Write the launches needed, or the share of runs that were within the tolerance when all had ended."""
    first = needed(curves, tolerance)
    share = 100 * float((curves[:, -1] <= tolerance).mean())
    return str(first) if first else f"> {curves.shape[1]} ({share:.0f} %)"


def mean_regret(folder: Path) -> None:
    """Print the second table: mean regret in per cent at equal launches, D being the number of dimensions."""
    print("| landscape | strategy (runs) | D | 2 D | 3 D | 30 | 60 | 100 |")
    print("| --- " * 8 + "|")
    for family, draw in FAMILIES.items():
        size = len(draw(0).dimensions)
        for kind in KINDS:
            data = load(folder, family, kind)
            if data is not None:
                row = " | ".join(f"{at(data[0], launch):.2f}" for launch in (size, 2 * size, 3 * size, 30, 60, 100))
                print(f"| {family} | {kind} ({len(data[0])}) | {row} |")


def against_random(folder: Path) -> None:
    """Print where ``staged`` is worst against ``random`` from one launch per dimension on."""
    for family, draw in FAMILIES.items():
        staged, random = load(folder, family, "staged"), load(folder, family, "random")
        if staged and random:
            most, where = excess(staged[0], random[0], len(draw(0).dimensions))
            print(f"- {family}: {most:+.2f} points of regret at {where} launches")


def main() -> None:
    folder = Path(sys.argv[1])
    for table in (launches_needed, mean_regret, against_random):
        table(folder)
        print()


if __name__ == "__main__":
    main()
