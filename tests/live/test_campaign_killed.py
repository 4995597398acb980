"""The campaign on the real engine, killed with SIGKILL in the middle of load points, again and again."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from shakedown.campaign.results import load_result
from shakedown.checks.registry import checks
from shakedown.domain.words import Verdict
from shakedown.inspect.assets import demo_model

pytestmark = [pytest.mark.live, pytest.mark.timeout(400)]

KEPT = {"context_length", "drift_from_reference", "usage_counts"}
"""Checks of other tests are left out: eight launches are checked here."""
CAMPAIGN = """
[campaign]
name = "killed"
strategy = "grid"
[model]
path = "{model}"
name = "m"
[engine]
kind = "llama.cpp"
args = {{ ctx-size = 1024, threads = 1, parallel = 2 }}
[[vary]]
name = "slots"
arg = "parallel"
values = [1, 2, 4]
[[workload]]
name = "w"
input_tokens = 16
output_tokens = 8
concurrency = [1, 2]
requests = 2
[gates]
level = "quick"
skip = {skip}
[decide]
launches = 1
repeats = 1
"""


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    file = tmp_path / "c.toml"
    skip = [check.name for check in checks() if check.name not in KEPT]
    file.write_text(CAMPAIGN.format(model=demo_model(lambda _: None), skip=skip))
    return file


def start(file: Path, out: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "shakedown", "run", str(file), "--out", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def points_started(out: Path) -> int:
    if not (out / "shakedown.sqlite").exists():
        return 0
    with contextlib.closing(sqlite3.connect(f"file:{out / 'shakedown.sqlite'}?mode=ro", uri=True)) as db:
        try:
            (count,) = db.execute(
                "SELECT count(*) FROM event WHERE json_extract(payload, '$.type') = 'point_started'"
            ).fetchone()
        except sqlite3.OperationalError:
            return 0  # the tables are being made
    return int(count)


def engines_of(out: Path) -> list[int]:
    """Processes whose command line or environment names a trial folder of this campaign."""
    found = []
    for process in psutil.process_iter():
        try:
            words = [*process.cmdline(), *process.environ().values()]
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
        if process.pid != os.getpid() and any(str(out / "trials") in word for word in words):
            found.append(process.pid)
    return found


@pytest.mark.parametrize("times", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_a_campaign_killed_in_load_points_leaves_no_engine_and_completes(
    campaign: Path, tmp_path: Path, times: int
) -> None:
    out = tmp_path / "out"
    for _ in range(times):
        before = points_started(out)
        running = start(campaign, out)
        while points_started(out) == before and running.poll() is None:
            time.sleep(0.05)
        assert running.poll() is None, "the campaign ended before it could be killed"
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        deadline = time.monotonic() + 10
        while engines_of(out) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert engines_of(out) == []
    running = start(campaign, out)
    assert running.wait() == 0
    result = load_result(out)
    finished = [trial.candidate for trial in result.trials if trial.verdict is not None]
    assert sorted(finished) == sorted(set(finished)), "a finished trial ran twice"
    assert {candidate.verdict for candidate in result.candidates} == {Verdict.QUALIFIED}
    assert all(len(candidate.points) == 2 for candidate in result.candidates)
    assert result.winner is not None
