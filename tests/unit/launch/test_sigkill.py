"""SIGKILL at any moment, to any of the processes: no engine process survives."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Self

from tests.unit.launch.scripted import TOKEN_VARIABLE, processes_with, start, survivors

from shakedown.domain.events import ServerReady
from shakedown.launch.lifeline import PARENT_VARIABLE
from shakedown.launch.orphans import find_orphans, kill_orphans
from shakedown.launch.server import Ended

HERE = Path(__file__).parent
ROOT = Path(__file__).parents[3]
SEARCH = f"{ROOT}{os.pathsep}{ROOT / 'src'}"
SEED = 20261129


def start_trial(folder: Path, token: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(HERE / "scripted_trial.py"), str(folder)],
        env={**os.environ, "PYTHONPATH": SEARCH, TOKEN_VARIABLE: token, **env},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


class Trials:
    """Starts trials one after another and kills them when it is told to."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "scripted_trials.py")],
            env={**os.environ, "PYTHONPATH": SEARCH},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()  # and with it a trial that is still there
        self._process.communicate()

    def start(self, folder: Path) -> tuple[int, str]:
        token = uuid.uuid4().hex
        self._process.stdin.write(f"{token} {folder}\n")
        self._process.stdin.flush()
        return int(self._line("pid")), token

    def _line(self, word: str) -> str:
        """The rest of the next line that begins with ``word``."""
        for line in self._process.stdout:
            said, rest = line.split()
            if said == word:
                return rest
        raise AssertionError("the process that forks the trials died")

    def seconds_to_readiness(self, folder: Path) -> float:
        begun = time.monotonic()
        pid, token = self.start(folder)
        assert self._line("ready") == token
        took_s = time.monotonic() - begun
        os.kill(pid, signal.SIGKILL)
        assert not survivors(token)
        return took_s

    def kill_after(self, delay_s: float, folder: Path) -> tuple[str, list[int]]:
        """Return how far the trial came, and what was left of it and its engine."""
        pid, token = self.start(folder)
        time.sleep(delay_s)
        os.kill(pid, signal.SIGKILL)
        left = survivors(token)
        for process in left:
            process.kill()
        log = folder / "server.log"
        came_to = "nothing" if not log.exists() else "guardian" if b"listening" not in log.read_bytes() else "listening"
        return came_to, [process.pid for process in left]


def test_no_engine_process_survives_a_trial_killed_at_random_moments(tmp_path):
    """Twenty-four moments from the first instruction to past readiness; the engine ignores SIGTERM and double-forks."""
    moments = random.Random(SEED)
    with Trials() as trials:
        trials.seconds_to_readiness(tmp_path / "warm-up")
        ready_s = trials.seconds_to_readiness(tmp_path / "calibration")
        outcomes = [
            trials.kill_after(moments.uniform(0.0, 1.3 * ready_s) if index else 0.0, tmp_path / str(index))
            for index in range(24)
        ]
    assert [left for _, left in outcomes if left] == []
    assert {came_to for came_to, _ in outcomes} >= {"nothing", "listening"}


def test_a_trial_dies_with_its_campaign(tmp_path):
    """The campaign is a process between this test and the trial; killing it takes trial, guardian and engine."""
    token = uuid.uuid4().hex
    code = (
        "import os, subprocess, sys\n"
        f"os.environ[{PARENT_VARIABLE!r}] = str(os.getpid())\n"
        f"trial = subprocess.Popen([sys.executable, {str(HERE / 'scripted_trial.py')!r}, {str(tmp_path)!r}])\n"
        "trial.wait()\n"
    )
    campaign = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": SEARCH, TOKEN_VARIABLE: token},
        stdout=subprocess.PIPE,
        text=True,
    )
    with campaign:
        assert campaign.stdout is not None
        assert "server_ready" in campaign.stdout.readline()
        assert len(processes_with(token)) >= 5  # campaign, trial, guardian, engine, grandchild
        campaign.kill()
    assert not survivors(token)


def test_a_trial_whose_campaign_is_gone_already_does_not_start(tmp_path):
    token = uuid.uuid4().hex
    with start_trial(tmp_path, token, **{PARENT_VARIABLE: "1"}) as trial:
        assert trial.wait(timeout=30) != 0
    assert not (tmp_path / "server.log").exists()


def test_a_killed_guardian_takes_the_engine_with_it_and_the_trial_is_told(tmp_path):
    token = uuid.uuid4().hex
    server = start(tmp_path, "ignores-term", "double-fork", env={TOKEN_VARIABLE: token})
    ready = server.wait_ready()
    assert isinstance(ready, ServerReady)
    os.kill(guardian_of(ready.pid), signal.SIGKILL)
    deadline = time.monotonic() + 10
    while (ended := server.poll()) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert isinstance(ended, Ended)
    assert ended.guardian_lost
    assert not survivors(token, patience_s=0)
    assert server.stop().forced


def test_what_survives_guardian_and_trial_is_found_named_and_killed_by_the_next_run(tmp_path):
    token = uuid.uuid4().hex
    ours, other = tmp_path / "ours", tmp_path / "other"
    with start_trial(ours / "trials" / "1", token) as trial:
        assert trial.stdout is not None
        assert "server_ready" in trial.stdout.readline()
        engine = next(process for process in processes_with(token) if "ignores-term" in process.cmdline())
        assert find_orphans(ours) == []  # a guarded engine is no orphan
        os.kill(trial.pid, signal.SIGSTOP)  # so that it cannot clean up after its guardian
        os.kill(guardian_of(engine.pid), signal.SIGKILL)
        trial.kill()
    deadline = time.monotonic() + 5
    while len(orphans := find_orphans(ours)) != 1 and time.monotonic() < deadline:  # the engine itself dies at once
        time.sleep(0.02)
    assert [orphan.folder for orphan in orphans] == [ours / "trials" / "1"]
    assert "double-fork" in orphans[0].command
    assert kill_orphans(other) == []
    assert processes_with(token)
    assert kill_orphans(ours) == orphans
    assert not survivors(token)


def guardian_of(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("PPid:"))


def test_a_signal_to_the_trials_group_does_not_reach_the_engine(tmp_path):
    """Ctrl-C in a terminal goes to the whole group; the trial decides what becomes of its engine."""
    token = uuid.uuid4().hex
    with start_trial(tmp_path, token) as trial:
        assert trial.stdout is not None
        assert "server_ready" in trial.stdout.readline()
        engine = next(process for process in processes_with(token) if "ignores-term" in process.cmdline())
        assert os.getpgid(engine.pid) != os.getpgid(trial.pid)
        assert os.getpgid(guardian_of(engine.pid)) != os.getpgid(trial.pid)
        trial.kill()
    assert not survivors(token)
