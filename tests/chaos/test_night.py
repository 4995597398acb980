"""A night without a guard: whatever happens to a campaign, run again it ends as the undisturbed one would have."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.chaos.kicks import KICKS
from tests.chaos.night import MANNERS, MENDED, THREADS, Night, launches, until, verdicts

from shakedown.domain.words import Verdict

Nights = Callable[[Path, Path, str], Night]
SEED = 20261129
LAUNCH_S = 3.0
"""About what a launch takes: kicks come at moments drawn from so many seconds after a launch or a kick."""
TWO = '[[vary]]\nname = "threads"\narg = "threads"\nvalues = [2, 3]\n'


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MiB of its own, to be filled; where nothing may be mounted, a folder."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = (
        shutil.which("mount") is not None
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(disk)], capture_output=True, check=False
        ).returncode
    )
    try:
        yield disk
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.fixture
def nights() -> Iterator[Nights]:
    """Makes campaigns; none of them outlives the test."""
    made: list[Night] = []

    def make(home: Path, out: Path, vary: str) -> Night:
        made.append(Night(home, out, vary))
        return made[-1]

    yield make
    for night in made:
        night.end()


def play(night: Night, kicks: list[str], draw: random.Random, within_s: float = LAUNCH_S) -> None:
    """Give the kicks one after another, each at a random moment of a session that runs, then let it end."""
    for name in kicks:
        if not night.runs():
            night.start()
            assert until(lambda: not night.runs() or bool(night.processes("shakedown trial"))), "nothing is launched"
        until(lambda: not night.runs(), draw.uniform(0.0, within_s))
        if night.runs():
            KICKS[name](night, draw)
        if night.session is not None and not night.runs():
            night.wait()
        print(name, night.exits[-1:], flush=True)
    for _ in range(3):
        if not night.runs():
            night.start()
        if night.wait() == 0:
            return
    pytest.fail(f"it does not come to its end: {night.exits[-3:]}")


@pytest.mark.slow
def test_a_campaign_that_is_kicked_ends_as_if_nothing_had_happened(tmp_path: Path, nights: Nights) -> None:
    night = nights(tmp_path / "home", tmp_path / "out", TWO)
    play(night, ["kill_campaign", "kill_guardian", "hang_up"], random.Random(SEED), within_s=1.0)
    result = night.look()
    assert verdicts(result) == dict.fromkeys(("baseline", "threads=3"), Verdict.QUALIFIED)
    assert result.winner.label == "threads=3"
    assert set(launches(result).values()) == {1}


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_fifty_kicks_change_nothing(tmp_path: Path, small_disk: Path, nights: Nights) -> None:
    space = THREADS + MENDED + MANNERS
    quiet = nights(tmp_path / "quiet", tmp_path / "quiet-out", space)
    quiet.start()
    assert quiet.wait() == 0
    undisturbed = quiet.look()
    draw = random.Random(SEED)
    able = [name for name in KICKS if name != "fill_disk" or small_disk.is_mount()]
    kicks = [*able, *draw.choices(able, k=50 - len(able))]
    draw.shuffle(kicks)
    night = nights(tmp_path / "kicked", small_disk / "out", space)
    play(night, kicks, draw)
    result = night.look()
    print(Counter(kicks), Counter(code for code, _ in night.exits), len(result.trials))
    shutil.copytree(night.out, tmp_path / "ended")  # the small disk goes with the test
    there, here = verdicts(undisturbed), verdicts(result)
    reasons = {candidate.label: candidate.reason for candidate in result.candidates}
    other = {label: reasons.get(label) for label in there.keys() | here.keys() if there.get(label) != here.get(label)}
    assert here == there, other
    assert result.winner.label == undisturbed.winner.label
    stolen = ("failed",)
    assert {key: count for key, count in launches(result).items() if key[1] not in stolen} == {
        key: count for key, count in launches(undisturbed).items() if key[1] not in stolen
    }
