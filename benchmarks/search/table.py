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


def main() -> None:
    folder = Path(sys.argv[1])
    print("| landscape | arms | " + " | ".join(KINDS) + " | staged took (mean, most) |")
    print("| --- | --- " * 1 + "| --- " * (len(KINDS) + 1) + "|")
    found = {(family, kind): load(folder, family, kind) for family in FAMILIES for kind in KINDS}
    for family in FAMILIES:
        landscape = FAMILIES[family](0)
        cells = []
        for kind in KINDS:
            data = found[family, kind]
            if data is None:
                cells.append("")
                continue
            curves = data[0]
            first = needed(curves, landscape.tolerance)
            share = 100 * (curves[:, -1] <= landscape.tolerance).mean()
            cells.append(str(first) if first else f"> {curves.shape[1]} ({share:.0f} %)")
        staged = found[family, "staged"]
        took = f"{staged[1].mean():.0f}, {staged[1].max()}" if staged else ""
        print(f"| {family} | {len(landscape.arms)} | {' | '.join(cells)} | {took} |")
    print(
        "\n| landscape | strategy | D | 2 D | 3 D | 30 | 60 | 100 |\n| --- | --- | --- | --- | --- | --- | --- | --- |"
    )
    for family in FAMILIES:
        size = len(FAMILIES[family](0).dimensions)
        for kind in KINDS:
            data = found[family, kind]
            if data is not None:
                row = " | ".join(f"{at(data[0], launch):.2f}" for launch in (size, 2 * size, 3 * size, 30, 60, 100))
                print(f"| {family} | {kind} ({len(data[0])}) | {row} |")
        staged, random = found[family, "staged"], found[family, "random"]
        if staged and random:
            most, where = excess(staged[0], random[0], size)
            print(f"| {family} | staged - random, worst | {most:+.2f} at {where} | | | | | |")


if __name__ == "__main__":
    main()
