"""The shape of a network out of ``config.json``: names differ from family to family, meanings do not.

Field names were read in the configuration classes of https://github.com/huggingface/transformers
(``src/transformers/models/*/configuration_*.py``) and in the config files of the models themselves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shakedown.domain.errors import CheckpointError


class Config:
    """A ``config.json``; ``text`` is its language part (nested under ``text_config`` in multimodal models)."""

    def __init__(self, content: Mapping[str, Any], path: Path) -> None:
        self.path = path
        self.top = content
        nested = next((content[key] for key in ("text_config", "llm_config", "thinker_config") if key in content), None)
        nested = nested.get("text_config", nested) if isinstance(nested, dict) else None
        self.text: Mapping[str, Any] = nested if isinstance(nested, dict) else content

    @classmethod
    def read(cls, path: Path) -> Config:
        """Read a file.

        Raises:
            CheckpointError: if it is missing, no JSON, or no object.
        """
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be read: {error.strerror}; a checkpoint needs it") from error
        except ValueError as error:
            raise CheckpointError(f"{path}: not JSON, perhaps cut short: {error}") from error
        if not isinstance(content, dict):
            raise CheckpointError(f"{path}: not a JSON object")
        return cls(content, path)

    def number(self, *names: str) -> int | None:
        """The first of several fields that holds a whole number."""
        for name in names:
            value = self.text.get(name)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
        return None

    def need(self, *names: str) -> int:
        """As ``number``.

        Raises:
            CheckpointError: if none is there.
        """
        value = self.number(*names)
        if value is None:
            raise CheckpointError(f"{self.path}: no {names[0]}: not the configuration of a language model")
        return value

    def word(self, *names: str) -> str | None:
        """The first of several fields that holds text, nested part first."""
        for part in (self.text, self.top):
            for name in names:
                if isinstance(part.get(name), str):
                    return str(part[name])
        return None

    def flag(self, name: str, *, default: bool) -> bool:
        """A yes or no, nested part first."""
        value = self.text.get(name, self.top.get(name, default))
        return default if value is None else bool(value)

    @property
    def multimodal(self) -> bool:
        """Whether the model takes pictures or sound too."""
        return any(key in self.top for key in ("vision_config", "visual", "mm_vision_tower", "audio_config"))

    @property
    def architecture(self) -> str:
        """First of ``architectures``; the model type where there are none."""
        names = self.top.get("architectures") or self.text.get("architectures")
        return str(names[0]) if isinstance(names, list) and names else self.model_type

    @property
    def model_type(self) -> str:
        """``model_type`` of the whole model."""
        return str(self.top.get("model_type") or self.text.get("model_type") or "unknown")

    @property
    def layers(self) -> int:
        """Layers of the network, draft heads not counted."""
        return self.need("num_hidden_layers", "n_layer", "num_layers")

    @property
    def heads(self) -> int:
        """Query heads."""
        return self.need("num_attention_heads", "n_head")

    @property
    def head_dim(self) -> int:
        """Width of a key head."""
        return self.number("head_dim") or self.need("hidden_size", "n_embd") // self.heads

    @property
    def draft_layers(self) -> int:
        """Multi-token-prediction layers that the configuration promises."""
        return self.number("mtp_num_hidden_layers", "num_nextn_predict_layers", "mtp_num_layers") or 0
