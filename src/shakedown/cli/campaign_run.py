"""Running a campaign from the command line: live view, reports, exit code. Shared by ``run`` and ``demo``."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from shakedown.campaign.loader import LoadedCampaign
from shakedown.campaign.session import run_campaign
from shakedown.cli.output import console
from shakedown.live.view import LiveView
from shakedown.report import html, json_, terminal

INTERRUPTED = 130
NOTHING_QUALIFIED = 3


def run_and_report(loaded: LoadedCampaign, folder: Path, *, as_json: bool, reuse_earlier: bool = False) -> None:
    """Run the campaign, print its result, write the page, and leave with the exit code.

    Everything human goes to standard error when ``as_json`` is set.
    """
    screen = console(stderr=as_json)
    with LiveView(screen) as view:
        ended = run_campaign(loaded, folder, watch=view.handle, tell=screen.print, reuse_earlier=reuse_earlier)
    page = folder / "report.html"
    page.write_text(html.render(ended.result), encoding="utf-8")
    terminal.render(ended.result, screen)
    if as_json:
        sys.stdout.write(json_.dump(ended.result))
    if ended.interrupted:
        screen.print(f"Stopped. Run the same command again to resume in {folder}.")
        raise typer.Exit(INTERRUPTED)
    if ended.result.winner is None:
        raise typer.Exit(NOTHING_QUALIFIED)
