"""A short, seeded version of ``benchmarks/stats/calibration.py``: what is said is true as often as it is said.

Limits leave two standard errors of 400 runs round the claims of docs/statistics.md.
"""

import pytest
from benchmarks.stats.calibration import MARGIN, World, simulate

RUNS = 400
CAMPAIGNS = {
    "launches repeated": World(launches=3),
    "few launches, six candidates": World(arms=6, launches=2),
    "repeats only": World(launches=1, launch_sd=0.0, launch_point_sd=0.0, repeat_sd=0.02),
}


@pytest.mark.parametrize("world", CAMPAIGNS.values(), ids=CAMPAIGNS)
def test_intervals_cover_and_identical_candidates_are_not_called_different(world: World) -> None:
    rates = simulate(world, 1.0, runs=RUNS)
    assert 0.93 <= rates.covered <= 0.97
    assert rates.different <= 0.07


def test_a_difference_of_five_per_cent_is_found_with_ten_launches() -> None:
    assert simulate(World(launches=10), 1.05, runs=RUNS).better >= 0.9


def test_a_ratio_at_the_margin_is_not_called_equivalent() -> None:
    quiet = World(launches=5, launch_sd=0.008, launch_point_sd=0.002)
    assert simulate(quiet, 1 + MARGIN, runs=RUNS).equivalent <= 0.07
    assert simulate(quiet, 1.0, runs=RUNS).equivalent >= 0.5


def test_picking_the_fastest_of_identical_candidates_makes_no_winner() -> None:
    assert simulate(World(arms=8, launches=2), 1.0, runs=200, family=True).any_slower <= 0.08
