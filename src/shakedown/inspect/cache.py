"""Answers of engines on disk: asking one takes as long as importing torch does."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


def cache_folder() -> Path:
    """Where answers are kept: ``$XDG_CACHE_HOME/shakedown/asked``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shakedown" / "asked"


def key_of(*parts: object) -> str:
    """A name for an answer that depends on all of ``parts``."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:24]


def load(key: str) -> dict[str, object] | None:
    """Return a kept answer; None where there is none that can be read."""
    with suppress(OSError, ValueError):
        content = json.loads((cache_folder() / f"{key}.json").read_text(encoding="utf-8"))
        if isinstance(content, dict):
            return content
    return None


def keep(key: str, answer: Mapping[str, object]) -> None:
    """Keep an answer; a folder that cannot be written costs the next caller the wait and nothing else."""
    with suppress(OSError):
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f"{key}.{os.getpid()}"
        unfinished.write_text(json.dumps(answer), encoding="utf-8")
        unfinished.replace(folder / f"{key}.json")
