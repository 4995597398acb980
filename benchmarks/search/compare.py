"""Play campaigns of every strategy on every landscape, and keep what was chosen after each launch.

``python -m benchmarks.search.compare --out DIR [--runs 200] [--families additive,…] [--kinds staged,…]``, then
``python -m benchmarks.search.table DIR``. A landscape and strategy that stand in DIR are not played again.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from benchmarks.search.families import FAMILIES
from benchmarks.search.simulate import regrets

from shakedown.domain.words import StrategyKind
from shakedown.plan.strategies.registry import strategy_for

MOST = {"staged": 300, "random": 300, "grid": 300, "tpe": 60}
"""Launches after which a campaign is cut off: enough to tell who needs three times as many, and for ``tpe`` what a CPU
does in an hour."""


def play(family: str, kind: str, seed: int) -> npt.NDArray[np.float64]:
    """Play one campaign on the landscape that ``seed`` draws; regret after each launch."""
    return regrets(FAMILIES[family](seed), strategy_for(StrategyKind(kind)), seed, MOST[kind])


def together(runs: list[npt.NDArray[np.float64]]) -> npt.NDArray[np.float32]:
    """Stack campaigns of different lengths: after its end a campaign's choice stands. Shape (runs, launches)."""
    longest = max(len(run) for run in runs)
    return np.array([np.append(run, np.full(longest - len(run), run[-1])) for run in runs], dtype=np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--kinds", default=",".join(MOST))
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    os.nice(10)
    options.out.mkdir(parents=True, exist_ok=True)
    seeds = range(options.first, options.first + options.runs)
    with ProcessPoolExecutor(options.jobs) as pool:
        for family in options.families.split(","):
            for kind in options.kinds.split(","):
                file = options.out / f"{family}.{kind}.{options.first}.npz"
                if not file.exists():
                    runs = list(pool.map(partial(play, family, kind), seeds))
                    np.savez_compressed(file, regrets=together(runs), lengths=[len(run) for run in runs])
                    print(file.name, flush=True)


if __name__ == "__main__":
    main()
