"""Engine processes that an earlier trial left behind, recognised by the marker in their environment.

They exist only if a guardian was killed itself (``guardian`` says why it otherwise leaves nothing).
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from shakedown.launch.guardian import MARKER_VARIABLE
from shakedown.launch.process_tree import is_alive

_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class Orphan:
    """An engine process whose guardian is gone."""

    pid: int
    command: str
    folder: Path
    """The folder of the trial that had started it."""
    guardian_pid: int


def find_orphans(campaign_folder: Path | None = None) -> list[Orphan]:
    """Return this user's engine processes without a guardian, of trials in ``campaign_folder`` or of any."""
    return [
        orphan
        for orphan, guardian_ticks in _marked()
        if not is_alive(orphan.guardian_pid, guardian_ticks)
        and (campaign_folder is None or orphan.folder.is_relative_to(campaign_folder.resolve()))
    ]


def kill_orphans(campaign_folder: Path) -> list[Orphan]:
    """Kill the orphans of one campaign's own trials and return them; never those of another campaign."""
    killed: dict[int, Orphan] = {}
    deadline = time.monotonic() + _PATIENCE_S
    while (left := find_orphans(campaign_folder)) and time.monotonic() < deadline:
        for orphan in left:
            killed[orphan.pid] = orphan
            _kill(orphan.pid)
        time.sleep(0.02)
    return list(killed.values())


def kill_marked(*, guardian_pid: int) -> None:
    """Kill everything that was started below a guardian which is gone."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        left = [orphan.pid for orphan, _ in _marked() if orphan.guardian_pid == guardian_pid]
        if not left:
            return
        for pid in left:
            _kill(pid)
        time.sleep(0.02)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # gone by itself meanwhile


def _marked() -> list[tuple[Orphan, int]]:
    found: list[tuple[Orphan, int]] = []
    for process in psutil.process_iter():
        try:
            marker = process.environ().get(MARKER_VARIABLE)
            if marker is None or process.status() == psutil.STATUS_ZOMBIE:
                continue
            command = " ".join(process.cmdline())
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        guardian_pid, ticks, folder = marker.split(":", 2)
        found.append((Orphan(process.pid, command, Path(folder), int(guardian_pid)), int(ticks)))
    return found
