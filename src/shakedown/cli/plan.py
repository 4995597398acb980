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
    from shakedown.cli.plan_facts import foresee
    from shakedown.domain.result import SCHEMA
    from shakedown.plan.page import plan_text

    loaded = load_campaign(file, elsewhere=True)
    spec = loaded.spec
    if machine is not None:
        spec = spec.model_copy(update={"machine": spec.machine.model_copy(update={"file": str(machine.absolute())})})
    seen = foresee(spec, engine_version=engine_version, progress=lambda line: typer.echo(line, err=True))
    if not as_json:
        notes = (*seen.engine.notes, *seen.machine.notes, *seen.model.notes)
        typer.echo(plan_text(seen.plan, notes), nl=False)
        return
    document = {
        "schema": SCHEMA,
        "campaign": spec.campaign.name,
        "machine": seen.machine.model_dump(mode="json"),
        "model": seen.model.model_dump(mode="json"),
        "engine": seen.engine.model_dump(mode="json", exclude={"flags"}),
        **seen.plan.document(),
    }
    typer.echo(json.dumps(document, indent=2))
