"""A Ray cluster: an existing one's address, or one that is started on this machine.

Ray stands in for ssh (``remote.ray_exec`` runs a command on a node), and for a scheduler: the keeper of a trial runs
below a detached actor that holds its GPUs and bears its name on Ray's dashboard (``remote.ray_keep``).
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from shakedown.campaign.places.afar import AfarPlace, last_words
from shakedown.campaign.places.base import Tell
from shakedown.campaign.places.remote.ray_exec import UNREACHABLE
from shakedown.domain.errors import UserError
from shakedown.domain.spec import PlaceSection
from shakedown.domain.trial import TrialRequest
from shakedown.domain.words import PlaceKind
from shakedown.launch.port import free_port

KIND = PlaceKind.RAY
LOCAL = "local"
"""Address that starts a cluster here, which ends with the campaign."""
_START_S = 60.0
_EXEC = ("-P", "-m", "shakedown.campaign.places.remote.ray_exec")
_KEEP = ("@ray@", "@remote@/ray_keep.py")
_KEEPER = ("-P", "-m", "shakedown.campaign.places.remote.keeper")


class RayPlace(AfarPlace):
    """The nodes of a cluster."""

    kind = KIND

    def __init__(
        self,
        section: PlaceSection,
        address: str,
        hosts: tuple[str, ...],
        own: subprocess.Popen[bytes] | None,
        tell: Tell,
    ) -> None:
        super().__init__(section, hosts, tell)
        self._address = address
        self._own = own

    def command(self, host: str, words: Sequence[str]) -> list[str]:
        """A driver of ours that runs the words on the node."""
        return [sys.executable, *_EXEC, self._address, host, *words]

    def python_on(self, host: str) -> str:  # noqa: ARG002 - the same everywhere
        """The interpreter of this machine, under the same path on every node."""
        return sys.executable

    def why_unreachable(self, done: subprocess.CompletedProcess[str]) -> str | None:
        """As with OpenSSH, one exit code is the carrier's own."""
        return (done.stderr or "Ray does not answer") if done.returncode == UNREACHABLE else None

    def job(self, request: TrialRequest, host: str, python: str, name: str) -> Mapping[str, object]:  # noqa: ARG002
        """An actor that holds the GPUs and starts the keeper."""
        shown = f"{request.candidate.label or 'trial'} ({name})"
        gpus = str(self._section.gpus or 0)
        keep = [*_KEEP, self._address]
        return {
            "launch": [*keep, "launch", "@node@", shown, gpus, python, *_KEEPER, "@spool@"],
            "watch": [*keep, "watch", "@job@"],
            "cancel": [*keep, "cancel", "@job@"],
        }

    def close(self) -> None:
        """End the cluster that was started for this campaign."""
        if self._own is not None:
            self._own.terminate()
            self._own.wait()


def cluster_at(address: str, gpus: int, *, patience_s: float) -> tuple[str, tuple[str, ...]]:
    """The cluster's address for its own nodes, and those that have as many GPUs as a trial asks for.

    A cluster that is starting gets ``patience_s``.

    Raises:
        UserError: the cluster cannot be reached, or has none.
    """
    words = [sys.executable, *_EXEC, address, "--nodes"]
    give_up = time.monotonic() + patience_s
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    while done.returncode != 0 and time.monotonic() < give_up:
        time.sleep(1.0)
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("shakedown-cluster "):
            cluster = json.loads(line.removeprefix("shakedown-cluster "))
            able = tuple(node["name"] for node in cluster["nodes"] if node["gpus"] >= gpus)
            if not able:
                raise UserError(f"[place] gpus = {gpus}: no node of the cluster at {address} has so many")
            return cluster["address"], able
    raise UserError(f"[place] address: no Ray cluster answers at {address}: {last_words(done.stderr)}")


def _start_here(gpus: int | None) -> tuple[str, subprocess.Popen[bytes]]:
    """A cluster of one node on this machine, below a process of ours; its address."""
    port = free_port("127.0.0.1")
    ray = str(Path(sys.executable).with_name("ray"))
    declared = [f"--num-gpus={gpus}"] if gpus is not None else []
    words = [ray, "start", "--head", "--block", "--node-ip-address=127.0.0.1", f"--port={port}", *declared]
    own = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return f"127.0.0.1:{port}", own


def open_place(section: PlaceSection, tell: Tell) -> RayPlace:
    """Reach the cluster, or start one here.

    Raises:
        UserError: Ray is not installed here, or no cluster answers.
    """
    if importlib.util.find_spec("ray") is None:
        raise UserError(
            f"[place] kind = 'ray': Ray is not installed in {sys.executable}; install the cluster's version of it "
            "there (pip install 'ray[default]==VERSION')"
        )
    address, own = section.address or "auto", None
    if address == LOCAL:
        tell("starting a Ray cluster on this machine")
        address, own = _start_here(section.gpus)
    try:
        address, able = cluster_at(address, section.gpus or 0, patience_s=_START_S if own is not None else 0.0)
    except UserError:
        if own is not None:
            own.terminate()
            own.wait()
        raise
    return RayPlace(section, address, section.hosts or able, own, tell)
