"""``shakedown run``: a campaign file, from plan to verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shakedown.campaign.loader import load_campaign
from shakedown.cli.campaign_run import run_and_report


def command(
    file: Annotated[Path, typer.Argument(help="Campaign file (TOML).", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="Results folder; one that exists is resumed. Default: FILE's name + -result.")
    ] = None,
    reuse: Annotated[
        bool,
        typer.Option(
            "--reuse",
            help="Take launches of earlier campaigns made with the same model, engine version, machine and load.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Run a campaign: plan, launch, check, measure, decide. Run it again to resume.

    Exit code 0: a winner; 3: nothing qualified; 130: stopped, to be resumed.

    Example: shakedown run campaign.toml --out result
    """
    run_and_report(load_campaign(file), out or Path(f"{file.stem}-result"), as_json=as_json, reuse_earlier=reuse)
