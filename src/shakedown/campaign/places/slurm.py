"""A Slurm cluster, from a machine that has its commands and shares a folder with its nodes.

A trial is one job: ``sbatch`` starts its keeper on the node, the relay runs here and reads the shared folder. The
campaign asks for nodes by name, since only trials of equal nodes may be compared; Slurm decides when.
"""

from __future__ import annotations

import math
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from shakedown.campaign.places.afar import RELAY, AfarPlace, last_words
from shakedown.campaign.places.base import Tell
from shakedown.campaign.places.remote.spool import cache_folder
from shakedown.domain.errors import UserError
from shakedown.domain.spec import PlaceSection
from shakedown.domain.trial import TrialRequest
from shakedown.domain.words import PlaceKind

KIND = PlaceKind.SLURM
_KEEPER = ("-P", "-m", "shakedown.campaign.places.remote.keeper")
_WARNING_S = 60
"""So long before the time limit the keeper is told, which is enough to stop a server in order."""


class SlurmPlace(AfarPlace):
    """The nodes of a partition."""

    kind = KIND

    def command(self, host: str, words: Sequence[str]) -> list[str]:
        """``srun`` on the node, for questions."""
        return ["srun", "--quiet", "--job-name=shakedown", *self._asked(host), *words]

    def relay(self, host: str, python: str, name: str) -> list[str]:  # noqa: ARG002 - it reads the shared folder
        """Here, over the shared folder."""
        return [sys.executable, *RELAY, name, str(self._root())]

    def python_on(self, host: str) -> str:  # noqa: ARG002 - the same everywhere
        """This very interpreter, on the file system that the nodes share."""
        return sys.executable

    def why_unreachable(self, done: subprocess.CompletedProcess[str]) -> str | None:
        """``srun`` says itself what Slurm refuses."""
        return done.stderr if done.returncode != 0 and "srun: error" in done.stderr else None

    def job(self, request: TrialRequest, host: str, python: str, name: str) -> Mapping[str, object]:
        """``sbatch`` for the keeper; ``squeue`` tells whether the job is still there, ``scancel`` takes it out."""
        limit = self._section.time_limit_s
        time = [f"--time={math.ceil(limit / 60)}"] if limit is not None else []
        launch = [
            "sbatch",
            "--parsable",
            f"--job-name=shakedown {request.candidate.label or name}",
            *self._asked(host),
            *time,
        ]
        launch += [f"--signal=B:TERM@{_WARNING_S}", "--output=@spool@/job.log", "--no-requeue"]
        keeper = f"exec {shlex.join([python, *_KEEPER])} '@spool@'"
        return {
            "launch": [*launch, f"--wrap={keeper}"],
            "watch": ["squeue", "--noheader", "--format=%T %r", "--jobs=@job@"],
            "cancel": ["scancel", "@job@"],
        }

    def _asked(self, host: str) -> list[str]:
        section = self._section
        partition = [f"--partition={section.partition}"] if section.partition is not None else []
        gpus = [f"--gpus={section.gpus}"] if section.gpus else []
        return ["--nodes=1", "--ntasks=1", f"--nodelist={host}", *partition, *gpus, *section.options]

    def _root(self) -> Path:
        return Path(self._section.folder or cache_folder()) / "trials"


def nodes_of(partition: str | None) -> tuple[str, ...]:
    """Nodes of a partition that are up.

    Raises:
        UserError: Slurm's commands are missing or say no.
    """
    chosen = [f"--partition={partition}"] if partition is not None else []
    try:
        done = subprocess.run(
            ["sinfo", "--noheader", "--Node", "--responding", "--format=%N", *chosen],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        raise UserError(
            "[place] kind = 'slurm': there is no sinfo here; run this on a machine of the cluster"
        ) from None
    nodes = tuple(dict.fromkeys(done.stdout.split()))
    if done.returncode != 0 or not nodes:
        raise UserError(f"[place] kind = 'slurm': no node is there: {last_words(done.stderr) or 'sinfo names none'}")
    return nodes


def open_place(section: PlaceSection, tell: Tell) -> SlurmPlace:
    """Open the named nodes, or all of the partition."""
    return SlurmPlace(section, section.hosts or nodes_of(section.partition), tell)
