"""The folder in which a trial away from its campaign keeps what is to go home, and hears what it is to do.

Written by two processes there: the *keeper* owns the trial; the *relay* speaks with the campaign and may come and go.

::

    SPOOL/
      settings.json   what to do without a campaign (``on_disconnect``, ``lease_s``)
      request.json    the trial's request; removed once the trial has it, for it may hold keys
      events.jsonl    the trial's standard output
      errors          its standard error
      files/          its folder: log, request records
      alive           a counter that the relay raises when it hears from the campaign
      stop            there when the trial is to stop; holds why
      pulse           a counter that the keeper raises while it lives
      ended.json      how the trial ended; the last thing written

Counters instead of times: the folder may be on a file system whose clock is another.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Spool:
    """Names of one trial's files, and how they are written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = folder / "settings.json"
        self.request = folder / "request.json"
        self.events = folder / "events.jsonl"
        self.errors = folder / "errors"
        self.files = folder / "files"
        self.alive = folder / "alive"
        self.stop = folder / "stop"
        self.pulse = folder / "pulse"
        self.ended = folder / "ended.json"

    def make(self, settings: Mapping[str, object], request: str) -> None:
        """Make the folder, for this user alone."""
        self.folder.mkdir(mode=0o700, parents=True)
        self.files.mkdir()
        write_whole(self.request, request)
        write_whole(self.settings, json.dumps(settings))

    def read(self, path: Path) -> dict[str, Any] | None:
        """A JSON object of this folder; None before it is there."""
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return content


def write_whole(path: Path, text: str) -> None:
    """Write a file that is there whole or not at all, readable by this user alone."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    part.replace(path)


def cache_folder() -> Path:
    """``$XDG_CACHE_HOME/shakedown/places``: environments, inputs and spools of trials that came from elsewhere."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shakedown" / "places"


class Counter:
    """A number in a file that one process raises and another sees change."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._count = 0

    def raise_(self) -> None:
        """Change it."""
        self._count += 1
        write_whole(self._path, f"{os.getpid()} {self._count}")

    def read(self) -> str:
        """What stands there; empty before the first."""
        try:
            return self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
