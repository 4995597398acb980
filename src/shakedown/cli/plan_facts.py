"""Gathers what ``plan`` needs: here from this machine, elsewhere from a machine file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from shakedown.campaign.loader import DEMO_PREFIX
from shakedown.domain.candidate import EngineRef
from shakedown.domain.errors import EngineNotFoundError
from shakedown.domain.facts import EngineFacts, FactNote, MachineFacts, ModelFacts
from shakedown.domain.spec import CampaignSpec
from shakedown.engines.registry import engine_for
from shakedown.inspect.ask import ask_engine, can_be_asked
from shakedown.inspect.assets import demo_model
from shakedown.inspect.checkpoint import inspect_model
from shakedown.inspect.engine import inspect_engine
from shakedown.inspect.machine import inspect_machine, read_machine_file
from shakedown.inspect.resolve import resolve_reference
from shakedown.plan.outcome import Plan
from shakedown.plan.planner import make_plan


@dataclass(frozen=True, slots=True)
class Foresight:
    """A plan and the facts it rests on."""

    plan: Plan
    model: ModelFacts
    machine: MachineFacts
    engine: EngineFacts


def foresee(spec: CampaignSpec, *, engine_version: str | None, progress: Callable[[str], None]) -> Foresight:
    """Look at model, machine and engine, and plan.

    Args:
        spec: a validated campaign with absolute paths; ``[machine] file`` set if it is for another machine.
        engine_version: version to plan for where the engine is not installed here.
        progress: told, in a sentence, what takes time.

    Raises:
        CheckpointError: the model is no whole checkpoint.
        UserError: the machine file cannot be understood.
    """
    if spec.model.path.startswith(DEMO_PREFIX):
        path = str(demo_model(progress))
        spec = spec.model_copy(update={"model": spec.model.model_copy(update={"path": path})})
    elsewhere = spec.machine.file is not None
    machine = read_machine_file(spec.machine.file) if spec.machine.file is not None else inspect_machine()
    model = inspect_model(Path(spec.model.path))
    engine = _engine(spec.engine_ref(), spec.machine.file, engine_version)
    builds = tuple(_engine(reference, None, None) for reference in _builds(spec))
    adapter = engine_for(spec.engine.kind)
    plan = make_plan(spec, adapter, model, machine, engine, builds=builds)
    if not elsewhere and engine.flags is not None and can_be_asked(engine.ref):
        progress(f"asking {engine.kind} what it makes of {len(plan.candidates)} candidates")
        answers = ask_engine(engine.ref, plan.candidates)
        plan = make_plan(spec, adapter, model, machine, engine, builds=builds, answers=answers)
    return Foresight(plan, model, machine, engine)


def _builds(spec: CampaignSpec) -> list[EngineRef]:
    options = [option for dimension in spec.vary for option in dimension.choices]
    return [
        EngineRef(kind=spec.engine.kind, python=option.python, command=option.command)
        for option in options
        if option.python is not None or option.command is not None
    ]


def _engine(reference: EngineRef, machine_file: str | None, version: str | None) -> EngineFacts:
    """The installation: as the machine file has it, as it is here, or what little is known of it."""
    described = _described(machine_file, reference)
    if described is not None:
        return described
    if machine_file is None:
        try:
            return inspect_engine(resolve_reference(reference))
        except EngineNotFoundError as error:
            why = str(error)
    else:
        why = "planned for another machine, whose file does not describe the engine"
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
