"""A candidate: what is launched. Its id is a hash of what makes it what it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from pydantic import Field

from shakedown.domain.base import ArgValue, Value
from shakedown.domain.words import EngineKind


class EngineRef(Value):
    """Which installation of which engine: an interpreter, or a command (wrapper, container, binary)."""

    kind: EngineKind
    python: str | None = None
    command: tuple[str, ...] | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    """Versions that are part of the identity: engine, torch, kernel libraries, driver; keyed by package name."""


class ModelRef(Value):
    """Which model is served, and the name clients call it by."""

    path: str
    name: str


class Candidate(Value):
    """Engine, arguments and environment; ``settings`` says which option of each varied dimension it takes."""

    engine: EngineRef
    model: ModelRef
    args: dict[str, ArgValue] = Field(default_factory=dict)
    """Everything passed to the engine, keys as in the campaign file: hyphens, no leading dashes."""
    env: dict[str, str] = Field(default_factory=dict)
    settings: dict[str, str] = Field(default_factory=dict)
    """Dimension name to option label; empty for a candidate that is not part of a space."""
    label: str = ""
    derived_from: str | None = None
    """Id of the candidate whose remedy or completion made this one."""
    remedy: str | None = None
    """Id of the signature or rule that made this one."""

    @property
    def id(self) -> str:
        """Twelve hex digits over engine, model path, arguments and environment: equal content, equal id."""
        return identity(self.engine, self.model, self.args, self.env)


def identity(engine: EngineRef, model: ModelRef, args: Mapping[str, ArgValue], env: Mapping[str, str]) -> str:
    """Hash what makes a candidate what it is; labels and history do not count, order of keys does not matter."""
    content = {
        "engine": engine.model_dump(mode="json"),
        "model": model.path,
        "args": {name: value for name, value in args.items() if value is not False},
        "env": dict(env),
    }
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def argument_name(name: str) -> str:
    """Return the campaign file's spelling of an argument: no leading dashes, hyphens instead of underscores."""
    return name.lstrip("-").replace("_", "-")
