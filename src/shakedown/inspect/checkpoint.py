"""What a checkpoint is, from configuration and headers alone: nothing is loaded, a 400 GB model takes seconds."""

from __future__ import annotations

from pathlib import Path

from shakedown.domain.errors import CheckpointError
from shakedown.domain.facts import ModelFacts
from shakedown.inspect.gguf_model import inspect_gguf
from shakedown.inspect.huggingface_model import inspect_folder


def inspect_model(path: str | Path) -> ModelFacts:
    """Read a GGUF file, or a folder with ``config.json`` and safetensors files or with one GGUF model.

    Raises:
        CheckpointError: if it is missing, cut short, incomplete or no checkpoint; the message names place and mend.
    """
    place = Path(path)
    if not place.exists():
        raise CheckpointError(f"{place}: no such file or folder")
    if place.is_file():
        return inspect_gguf(place)
    if (place / "config.json").exists():
        return inspect_folder(place)
    models = sorted(place.glob("*.gguf"))
    if not models:
        raise CheckpointError(
            f"{place}: neither config.json nor a GGUF file in this folder; name the model's own folder"
        )
    if len({model.name.split("-00")[0] for model in models}) > 1:
        names = ", ".join(model.name for model in models[:4])
        raise CheckpointError(f"{place}: several GGUF models in this folder ({names}); name one of them")
    return inspect_gguf(models[0])
