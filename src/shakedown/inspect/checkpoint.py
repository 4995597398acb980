"""What a checkpoint is, from configuration and headers alone: nothing is loaded, a 400 GB model takes seconds."""

from __future__ import annotations

from pathlib import Path

from shakedown.domain.errors import CheckpointError
from shakedown.domain.facts import ModelFacts
from shakedown.inspect.gguf_model import inspect_gguf


def inspect_model(path: str | Path) -> ModelFacts:
    """Read a GGUF file.

    Raises:
        CheckpointError: if it is missing, cut short, incomplete or no checkpoint; the message names place and mend.
    """
    place = Path(path)
    if not place.exists():
        raise CheckpointError(f"{place}: no such file or folder")
    if place.is_file():
        return inspect_gguf(place)
    raise CheckpointError(f"{place}: a folder without a GGUF file")
