"""The base of every value that crosses a process or is stored: frozen, strict about unknown keys, JSON in and out."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Scalar = bool | int | float | str
"""A value as TOML or JSON give it."""

ArgValue = Scalar | list[Scalar]
"""The value of one engine argument: ``True`` is a bare flag, ``False`` takes it away, a list repeats its values."""

UnixSeconds = Annotated[float, Field(ge=0)]
"""Wall-clock time, seconds since the epoch: for people and for order between processes, never for durations."""


class Value(BaseModel):
    """A frozen value with no unknown keys; ``model_dump(mode="json")`` and ``model_validate`` are inverse."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True, ser_json_inf_nan="strings"
    )
