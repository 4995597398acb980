"""``shakedown inspect``: what model, machine and engine are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from shakedown.domain.words import EngineKind


def command(
    model: Annotated[
        Path | None, typer.Argument(help="Checkpoint folder or GGUF file; nothing is loaded.", show_default=False)
    ] = None,
    engine: Annotated[EngineKind | None, typer.Option(help="Ask this engine for its version and flags.")] = None,
    python: Annotated[str | None, typer.Option(help="The interpreter that the engine is installed in.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Say what a checkpoint, this machine and an engine installation are.

    The JSON document, or its ``machine`` alone, is what ``[machine] file`` and ``plan --machine`` take.

    Example: shakedown inspect /data/models/Qwen3-8B --engine vllm --python /opt/vllm/bin/python
    """
    from shakedown.domain.candidate import EngineRef
    from shakedown.inspect.checkpoint import inspect_model
    from shakedown.inspect.engine import inspect_engine
    from shakedown.inspect.machine import inspect_machine
    from shakedown.inspect.page import engine_text, machine_text, model_text
    from shakedown.inspect.resolve import resolve_reference

    seen_model = inspect_model(model) if model is not None else None
    machine = inspect_machine()
    asked = inspect_engine(resolve_reference(EngineRef(kind=engine, python=python))) if engine is not None else None
    if as_json:
        facts = {"model": seen_model, "machine": machine, "engine": asked}
        document = {name: value.model_dump(mode="json") if value else None for name, value in facts.items()}
        typer.echo(json.dumps(document, indent=2))
        return
    pages = [model_text(seen_model)] if seen_model else []
    pages.append(machine_text(machine))
    pages += [engine_text(asked)] if asked else []
    typer.echo("\n\n".join(pages))
