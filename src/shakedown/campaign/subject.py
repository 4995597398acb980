"""What the campaign is about, looked at before anything is launched: model, machine, engine installations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from shakedown.campaign.loader import DEMO_PREFIX
from shakedown.domain.candidate import EngineRef
from shakedown.domain.errors import UserError
from shakedown.domain.facts import EngineFacts, MachineFacts, ModelFacts
from shakedown.domain.spec import CampaignSpec, Option
from shakedown.inspect.assets import demo_model
from shakedown.inspect.checkpoint import inspect_model
from shakedown.inspect.engine import inspect_engine
from shakedown.inspect.machine import inspect_machine
from shakedown.inspect.resolve import resolve_reference


@dataclass(frozen=True, slots=True)
class Subject:
    """Facts about what is tried. ``spec`` has the model's path as it is on this machine."""

    spec: CampaignSpec
    model: ModelFacts | None
    machine: MachineFacts | None
    engine: EngineFacts
    builds: tuple[EngineFacts, ...]

    def facts(self) -> dict[str, dict[str, object]]:
        """Facts as JSON objects, for the store."""
        found: dict[str, dict[str, object]] = {"engine": self.engine.model_dump(mode="json", exclude={"flags"})}
        if self.model is not None:
            found["model"] = self.model.model_dump(mode="json")
        if self.machine is not None:
            found["machine"] = self.machine.model_dump(mode="json")
        return found


def inspect_subject(spec: CampaignSpec, *, progress: Callable[[str], None]) -> Subject:
    """Look at everything that a campaign file names.

    Args:
        spec: a validated campaign with absolute paths.
        progress: told, in a sentence, what takes time (the demo model being fetched).

    Raises:
        CheckpointError: the model is no whole checkpoint.
        EngineNotFoundError: the engine is not installed where the file says.
        UserError: the machine file cannot be understood.
    """
    if spec.model.path.startswith(DEMO_PREFIX):
        path = str(demo_model(progress))
        name = spec.model.name or spec.model_ref().name.removeprefix(DEMO_PREFIX)
        spec = spec.model_copy(update={"model": spec.model.model_copy(update={"path": path, "name": name})})
    references = [
        EngineRef(kind=spec.engine.kind, python=option.python, command=option.command) for option in _builds(spec)
    ]
    return Subject(
        spec=spec,
        model=inspect_model(Path(spec.model.path)),
        machine=_machine(spec),
        engine=inspect_engine(resolve_reference(spec.engine_ref())),
        builds=tuple(inspect_engine(resolve_reference(reference)) for reference in references),
    )


def _builds(spec: CampaignSpec) -> Iterator[Option]:
    for dimension in spec.vary:
        for option in dimension.choices:
            if option.python is not None or option.command is not None:
                yield option


def _machine(spec: CampaignSpec) -> MachineFacts:
    if spec.machine.file is None:
        return inspect_machine()
    text = Path(spec.machine.file).read_text(encoding="utf-8")
    try:
        content = json.loads(text)
        # Both the object itself and a whole `inspect --json` document are what people have at hand.
        return MachineFacts.model_validate(content.get("machine", content) if isinstance(content, dict) else content)
    except (json.JSONDecodeError, ValidationError) as error:
        raise UserError(
            f"{spec.machine.file}: not a machine description (inspect --json writes one): {error}"
        ) from error
