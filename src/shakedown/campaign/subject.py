"""What the campaign is about, looked at before anything is launched: model, machine, engine installations; the plan."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from shakedown.campaign.loader import DEMO_PREFIX
from shakedown.domain.candidate import EngineRef
from shakedown.domain.errors import EngineNotFoundError
from shakedown.domain.facts import EngineFacts, FactNote, MachineFacts, ModelFacts
from shakedown.domain.spec import CampaignSpec, Option
from shakedown.engines.registry import engine_for
from shakedown.inspect.ask import ask_engine, can_be_asked
from shakedown.inspect.assets import demo_model
from shakedown.inspect.checkpoint import inspect_model
from shakedown.inspect.engine import inspect_engine
from shakedown.inspect.machine import inspect_machine, read_machine_file
from shakedown.inspect.resolve import resolve_reference
from shakedown.plan.outcome import Plan
from shakedown.plan.planner import make_plan

Progress = Callable[[str], None]
"""Told, in a sentence, what takes time."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Facts about what is tried. ``spec`` has the model's path as it is on this machine."""

    spec: CampaignSpec
    model: ModelFacts | None
    machine: MachineFacts | None
    engine: EngineFacts
    builds: tuple[EngineFacts, ...]

    def facts(self) -> dict[str, dict[str, object]]:
        """Facts as JSON objects, for the store and for ``plan --json``."""
        found: dict[str, dict[str, object]] = {"engine": self.engine.model_dump(mode="json", exclude={"flags"})}
        if self.model is not None:
            found["model"] = self.model.model_dump(mode="json")
        if self.machine is not None:
            found["machine"] = self.machine.model_dump(mode="json")
        return found


def inspect_subject(spec: CampaignSpec, *, progress: Progress) -> Subject:
    """Look at everything that a campaign file names, in order to run it here.

    Raises:
        CheckpointError: the model is no whole checkpoint.
        EngineNotFoundError: the engine is not installed where the file says.
        UserError: the machine file cannot be understood.
    """
    return _inspect(spec, lambda reference: inspect_engine(resolve_reference(reference)), progress)


def foresee_subject(spec: CampaignSpec, *, engine_version: str | None, progress: Progress) -> Subject:
    """Look at what a campaign file names, in order to plan it, for this machine or for one that a file describes.

    An engine that is not installed here is known by ``engine_version`` alone, and rules stand in for it.

    Raises:
        CheckpointError: the model is no whole checkpoint.
        UserError: the machine file cannot be understood.
    """
    return _inspect(spec, lambda reference: _engine(reference, spec.machine.file, engine_version), progress)


def plan_subject(subject: Subject, *, progress: Progress) -> Plan:
    """Plan a campaign; where the engine can be asked, what it rejects itself is pruned in its own words."""
    adapter = engine_for(subject.spec.engine.kind)
    plan = make_plan(subject.spec, adapter, subject.model, subject.machine, subject.engine, builds=subject.builds)
    here = subject.spec.machine.file is None
    if not here or subject.engine.flags is None or not can_be_asked(subject.engine.ref):
        return plan
    progress(f"asking {subject.engine.kind} what it makes of {len(plan.candidates)} candidates")
    answers = ask_engine(subject.engine.ref, plan.candidates)
    return make_plan(
        subject.spec, adapter, subject.model, subject.machine, subject.engine, builds=subject.builds, answers=answers
    )


def _inspect(spec: CampaignSpec, find: Callable[[EngineRef], EngineFacts], progress: Progress) -> Subject:
    if spec.model.path.startswith(DEMO_PREFIX):
        path = str(demo_model(progress))
        name = spec.model.name or spec.model_ref().name.removeprefix(DEMO_PREFIX)
        spec = spec.model_copy(update={"model": spec.model.model_copy(update={"path": path, "name": name})})
    machine = (
        read_machine_file(spec.machine.file)
        if spec.machine.file is not None
        else inspect_machine({**os.environ, **spec.engine.env})
    )
    references = [
        EngineRef(kind=spec.engine.kind, python=option.python, command=option.command) for option in _builds(spec)
    ]
    return Subject(
        spec=spec,
        model=inspect_model(Path(spec.model.path)),
        machine=machine,
        engine=find(spec.engine_ref()),
        builds=tuple(find(reference) for reference in references),
    )


def _builds(spec: CampaignSpec) -> Iterator[Option]:
    for dimension in spec.vary:
        for option in dimension.choices:
            if option.python is not None or option.command is not None:
                yield option


def _engine(reference: EngineRef, machine_file: str | None, version: str | None) -> EngineFacts:
    """The installation: as the machine file has it, as it is here, or what little is known of it."""
    described = _described(machine_file, reference)
    if described is not None:
        return described
    why = "planned for another machine, whose file does not describe the engine"
    if machine_file is None:
        try:
            return inspect_engine(resolve_reference(reference))
        except EngineNotFoundError as error:
            why = str(error)
    return EngineFacts(
        kind=reference.kind,
        version=version,
        flags=None,
        python=reference.python,
        command=reference.command,
        notes=(FactNote(kind="not_asked", summary=f"the engine is not asked, rules stand in for it: {why}"),),
    )


def _described(machine_file: str | None, reference: EngineRef) -> EngineFacts | None:
    """The ``engine`` of a whole ``inspect --json`` document, if the machine file is one and it is this engine."""
    if machine_file is None:
        return None
    content = json.loads(Path(machine_file).read_text(encoding="utf-8"))
    try:
        facts = EngineFacts.model_validate(content["engine"])
    except (KeyError, TypeError, ValidationError):
        return None
    return facts if facts.kind is reference.kind else None
