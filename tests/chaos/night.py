"""A campaign on scripted engines that is run, kicked and run again; and what must hold whatever happens to it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from tests.fakes.gguf_files import write_tiny_gguf

from shakedown.campaign.results import load_result
from shakedown.domain.errors import StoreError
from shakedown.domain.result import CampaignResult, TrialResult
from shakedown.domain.words import Verdict

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "tests" / "chaos" / "engine.py"
CLOCK = Path(__file__).parent / "clock"
CLOCK_FILE_VARIABLE = "SHAKEDOWN_TEST_CLOCK"
PATIENCE_S = 60.0

CAMPAIGN = """
[campaign]
name = "night"
strategy = "grid"
[model]
path = "{model}"
name = "toy"
[engine]
kind = "llama.cpp"
command = ["{python}", "{engine}"]
{vary}
[[workload]]
name = "w"
prompts = "text:prose"
input_tokens = 8
output_tokens = 8
concurrency = 2
requests = 4
warmup_requests = 0
[gates]
level = "quick"
[decide]
launches = {launches}
repeats = 1
"""
THREADS = '[[vary]]\nname = "threads"\narg = "threads"\nvalues = [1, 2, 3]\n'
MENDED = '[[vary]]\nname = "v"\narg = "cache-type-v"\nvalues = ["f16", "q8_0"]\n'
MANNERS = """
[[vary]]
name = "manners"
options = [
  { label = "good" },
  { label = "garbage", args = { cache-type-k = "q8_0" } },
  { label = "stubborn", args = { no-kv-offload = true } },
]
"""


def until(holds: Callable[[], bool], patience_s: float = PATIENCE_S) -> bool:
    """Wait for a condition; whether it came to hold."""
    deadline = time.monotonic() + patience_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@dataclass
class Night:
    """One campaign in one folder, one session after another."""

    home: Path
    """Where its campaign file lies."""
    out: Path
    vary: str = THREADS
    launches: int = 1
    session: subprocess.Popen[bytes] | None = None
    finished: dict[str, TrialResult] = field(default_factory=dict)
    """Every finished launch that was ever seen, by its id."""
    exits: list[tuple[int, str]] = field(default_factory=list)
    """Exit code and last words of every session."""

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        model = write_tiny_gguf(self.home / "m.gguf")
        self.file = self.home / "c.toml"
        self.file.write_text(
            CAMPAIGN.format(model=model, python=sys.executable, engine=ENGINE, vary=self.vary, launches=self.launches)
        )
        self.clock = self.home / "clock"
        self.clock.write_text("0")

    def start(self) -> subprocess.Popen[bytes]:
        """Run the campaign, or go on with it."""
        self.session = self.command()
        return self.session

    def command(self, words: str = "words") -> subprocess.Popen[bytes]:
        """``shakedown run`` as a person starts it, what it says in the file ``words``."""
        search = os.pathsep.join(map(str, (CLOCK, ROOT, ROOT / "src")))
        with (self.home / words).open("wb") as said:
            return subprocess.Popen(
                [sys.executable, "-m", "shakedown", "run", str(self.file), "--out", str(self.out)],
                env={**os.environ, "PYTHONPATH": search, CLOCK_FILE_VARIABLE: str(self.clock)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )

    def runs(self) -> bool:
        """Whether a session is under way."""
        return self.session is not None and self.session.poll() is None

    def wait(self) -> int:
        """Wait for the session's end, see that nothing is left of it, and remember what it finished."""
        assert self.session is not None
        assert until(lambda: not self.runs(), 10 * PATIENCE_S), "the session does not end"
        code = self.session.wait()
        self.exits.append((code, (self.home / "words").read_text(errors="replace")[-2000:]))
        assert until(lambda: not self.leftovers()), f"left behind: {self.leftovers()}"
        self.session = None
        self.look()
        return code

    def end(self) -> None:
        """Kill a session that a failed test leaves behind."""
        if self.session is not None:
            self.session.kill()
            self.session.wait()

    def look(self) -> CampaignResult | None:
        """Read the results as they stand; what was once finished must be there, and be the same."""
        try:
            result = load_result(self.out)
        except StoreError:
            assert not self.finished, "finished launches are gone"
            return None
        now = {trial.id: trial for trial in result.trials if trial.verdict is not None}
        for trial_id, trial in self.finished.items():
            assert now.get(trial_id) == trial, f"{trial_id} was finished and is lost or changed"
        self.finished.update(now)
        return result

    def leftovers(self) -> list[str]:
        """Processes, the session itself apart, that carry this campaign's trial folders or belong to its session."""
        return [f"{process.pid} {' '.join(process.cmdline())}" for process in _marked(self.out)]

    def processes(self, word: str) -> list[psutil.Process]:
        """Processes of the session whose command line holds ``word``, in no order."""
        assert self.session is not None
        with contextlib.suppress(psutil.NoSuchProcess):
            return [
                process
                for process in psutil.Process(self.session.pid).children(recursive=True)
                if word in " ".join(_cmdline(process))
            ]
        return []

    def trial(self) -> psutil.Process | None:
        """The trial process that has an engine, not the one that waits for the next request."""
        return next((trial for trial in self.processes("shakedown trial") if trial.children()), None)


def _marked(out: Path) -> Iterator[psutil.Process]:
    trials = f"{out}/trials"
    for process in psutil.process_iter():
        try:
            words = [*process.cmdline(), *process.environ().values()]
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
        if process.pid != os.getpid() and any(trials in word for word in words):
            yield process


def _cmdline(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


def verdicts(result: CampaignResult) -> dict[str, Verdict]:
    """What is said of each candidate, by its label."""
    return {candidate.label: candidate.verdict for candidate in result.candidates}


def launches(result: CampaignResult) -> Counter[tuple[str, Verdict]]:
    """How often each candidate was launched to its end, by what the launch came to."""
    labels = {candidate.id: candidate.label for candidate in result.candidates}
    return Counter((labels[trial.candidate], trial.verdict) for trial in result.trials if trial.verdict is not None)
