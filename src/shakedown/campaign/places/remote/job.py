"""A keeper that a scheduler starts: how it is asked to, whether it still will, and how it is told not to any more."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from shakedown.campaign.places.remote.spool import Spool, write_whole

RAY_PYTHON = "SHAKEDOWN_RAY_PYTHON"
"""Names the interpreter of Ray's worker, for what is started below it."""
RAY_NODE = "SHAKEDOWN_RAY_NODE"
"""Names the node: several may share an address, which is all that Ray's own connection goes by."""
_HOPELESS = ("ReqNodeNotAvail", "DOWN", "BadConstraints", "launch failed")
"""Reasons of Slurm (squeue(1)) for which a job of one named node will not start while nobody comes and mends it."""


class Job:
    """The ``job`` of a spool's settings: commands that ``launch``, ``watch`` and ``cancel``; or none at all."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._id = spool.folder / "job"

    @property
    def _words(self) -> dict[str, list[str]]:
        settings: dict[str, Any] = self._spool.read(self._spool.settings) or {}
        return settings.get("job") or {}

    @property
    def is_scheduled(self) -> bool:
        """Whether a scheduler starts the keeper."""
        return bool(self._words)

    def launch(self) -> None:
        """Hand the keeper to the scheduler.

        Raises:
            ValueError: it refuses, in its own words.
        """
        words = [_filled(word).replace("@spool@", str(self._spool.folder)) for word in self._words["launch"]]
        done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise ValueError(f"{words[0]} refuses the job: {done.stderr.strip()}")
        write_whole(self._id, done.stdout.strip().partition(";")[0])

    def hopeless(self) -> str | None:
        """Why the job will not start any more; None while it may, or the scheduler does not answer."""
        done = self._run("watch")
        said = done.stdout.strip()
        if "Invalid job id" in done.stderr or (done.returncode == 0 and not said):
            return f"job {self._number()} left the queue before its trial began"
        if any(reason in said for reason in _HOPELESS):
            self.cancel()
            return f"job {self._number()} cannot start: {said}"
        return None

    def cancel(self) -> None:
        """Take the job out of the queue."""
        self._run("cancel")

    def _number(self) -> str:
        return self._id.read_text(encoding="utf-8")

    def _run(self, which: str) -> subprocess.CompletedProcess[str]:
        words = [_filled(word).replace("@job@", self._number()) for word in self._words[which]]
        return subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def _filled(word: str) -> str:
    """Put in what is known only here: our folder, and for Ray the interpreter that has it and the node's id."""
    known = {"@remote@": str(Path(__file__).parent), "@ray@": RAY_PYTHON, "@node@": RAY_NODE}
    for mark, value in known.items():
        word = word.replace(mark, os.environ.get(value, value))
    return word
