"""``shakedown plan``: what can work, what cannot and why, how much fits, what the hardware allows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def command(
    file: Annotated[Path, typer.Argument(help="Campaign file (TOML).", show_default=False)],
    machine: Annotated[
        Path | None, typer.Option(help="Plan for the machine that this file describes (from inspect --json).")
    ] = None,
    engine_version: Annotated[
        str | None, typer.Option(help="Version to plan for where the engine is not installed here.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Show a campaign's candidates, those pruned with rule and source, capacity and ceiling. Starts nothing.

    Example: shakedown plan campaign.toml --machine box.json
    """
    from shakedown.campaign.loader import load_campaign
    from shakedown.campaign.subject import foresee_subject, plan_subject
    from shakedown.domain.result import SCHEMA
    from shakedown.plan.page import plan_text

    loaded = load_campaign(file, elsewhere=True)
    spec = loaded.spec
    if machine is not None:
        spec = spec.model_copy(update={"machine": spec.machine.model_copy(update={"file": str(machine.absolute())})})
    subject = foresee_subject(spec, engine_version=engine_version, progress=_tell)
    plan = plan_subject(subject, progress=_tell)
    if not as_json:
        facts = (subject.engine, subject.machine, subject.model)
        typer.echo(plan_text(plan, [note for fact in facts if fact is not None for note in fact.notes]), nl=False)
        return
    document = {"schema": SCHEMA, "campaign": spec.campaign.name, **subject.facts(), **plan.document()}
    typer.echo(json.dumps(document, indent=2))


def _tell(line: str) -> None:
    typer.echo(line, err=True)
