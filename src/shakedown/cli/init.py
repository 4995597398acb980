"""``shakedown init``: a campaign file fit for a model, this machine and an engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from shakedown.domain.words import EngineKind


def command(
    model: Annotated[str | None, typer.Argument(help="Checkpoint folder or GGUF file.", show_default=False)] = None,
    *,
    engine: Annotated[EngineKind | None, typer.Option(help="The engine to serve it with.")] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", help="Today's launch line, a systemd unit or a compose file: becomes the reference."),
    ] = None,
    machine: Annotated[Path | None, typer.Option(help="For the machine that this file describes.")] = None,
    out: Annotated[Path, typer.Option(help="Where to write it; - for standard output.")] = Path("campaign.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Write a commented campaign file: dimensions worth varying here, a workload, gates.

    Example: shakedown init /data/models/Qwen3-8B --engine vllm

    From what runs today: shakedown init --from 'python -m sglang.launch_server --model-path /m --tp 8'
    """
    from shakedown.domain.errors import CheckpointError, UserError
    from shakedown.domain.result import SCHEMA
    from shakedown.inspect.checkpoint import inspect_model
    from shakedown.inspect.launch_source import read_launch_line
    from shakedown.inspect.machine import inspect_machine, read_machine_file
    from shakedown.plan.draft import draft_campaign
    from shakedown.plan.launch_line import LaunchLine

    if source is not None:
        line = read_launch_line(source)
    elif model is not None and engine is not None:
        line = LaunchLine(kind=engine, model=model)
    else:
        raise UserError("name a model and --engine, or give today's launch line with --from")
    try:
        facts = inspect_model(line.model)
    except CheckpointError:
        if source is None:
            raise
        # The line may be for another machine, or name a model on a hub.
        facts = None
        typer.echo(f"note: {line.model} cannot be read from here; its facts are left out", err=True)
    seen = read_machine_file(machine) if machine is not None else inspect_machine()
    text = draft_campaign(line, facts, seen)
    printed = str(out) == "-"
    if not printed:
        if out.exists() and not force:
            raise UserError(f"{out} exists; choose another --out, or --force to overwrite it")
        out.write_text(text, encoding="utf-8")
        typer.echo(f"wrote {out}; see what it would do: shakedown plan {out}", err=True)
    if as_json:
        document = {"schema": SCHEMA, "file": None if printed else str(out), "campaign": text}
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
    elif printed:
        typer.echo(text, nl=False)
