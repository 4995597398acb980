"""The reference: frozen token ids and what the reference candidate thinks of them, in one JSON file a model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from shakedown.domain.base import Value
from shakedown.domain.errors import ShakedownError, UserError
from shakedown.domain.words import GateLevel


class Point(Value):
    """The reference's next-token distribution after the first ``position`` tokens of a sequence."""

    sequence: int = Field(ge=0)
    position: int = Field(ge=1)
    stretch: int = Field(ge=0)
    """Neighbouring positions share a stretch: the unit that the bootstrap resamples."""
    top: dict[int, float]
    """Token id to log-probability of the most likely tokens, natural logarithm."""


class ChatStart(Value):
    """How one chat begins: what the template makes of it, and what comes next."""

    prompt_tokens: int | None
    top: dict[str, float]
    """Alternatives of the first token: its id as text where the server tells, else its text, to log-probability."""


class TextStatistics(Value):
    """What sampled text looks like, model and all."""

    surprisal: float | None
    """Mean negative log-probability of the sampled tokens, nats."""
    repetition: float
    """Share of neighbouring token pairs that occurred before in their answer."""
    latin_share: float | None
    """Share of letters in Latin script."""


class Reference(Value):
    """Everything that other candidates are compared with. Parts that a level does not measure are empty."""

    schema_: Literal["shakedown-reference/1"] = Field(default="shakedown-reference/1", alias="schema")
    model: str
    """The name the model was served under: a reference speaks for one model only."""
    level: GateLevel
    context_tokens: int
    """The length it was asked to reach; ``points`` say how far it came."""
    sequences: tuple[tuple[int, ...], ...] = ()
    points: tuple[Point, ...] = ()
    chats: tuple[ChatStart, ...] = ()
    text: TextStatistics | None = None
    tasks: dict[str, bool] = Field(default_factory=dict)
    """Task name to whether the reference answered it rightly."""


def read_reference(path: Path, model: str) -> Reference:
    """Read a reference file and make sure that it speaks for ``model``.

    Raises:
        UserError: if the file is missing, damaged, of another schema or another model.
    """
    try:
        reference = Reference.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UserError(
            f"{path}: cannot read the reference ({error.strerror}); write one with --write-reference"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UserError(
            f"{path}: not a reference file of this version: {place}: {first['msg']}; write it anew"
        ) from error
    if reference.model != model:
        raise UserError(
            f"{path}: the reference is of model {reference.model!r}, the server is asked for {model!r}; "
            "write a reference of this model or name the same one with --model"
        )
    return reference


def write_reference(
    path: Path, *, model: str, level: GateLevel, context_tokens: int, parts: Mapping[str, object]
) -> None:
    """Write a reference file, whole or not at all.

    Raises:
        ShakedownError: if the folder cannot be written.
    """
    reference = Reference.model_validate({"model": model, "level": level, "context_tokens": context_tokens, **parts})
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(reference.model_dump_json(), encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise ShakedownError(
            f"{path}: cannot write the reference ({error.strerror}); is the folder writable?"
        ) from error
