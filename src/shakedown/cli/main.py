"""The ``shakedown`` command.

Each command is a module of this package with a function ``command``; it is imported only when it is called, so that
``shakedown --help`` answers at once.
"""

from __future__ import annotations

import importlib
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from shakedown import __version__

COMMANDS = {
    "demo": "Run a whole campaign on this CPU: real llama.cpp, a 135 M model.",
    "inspect": "Say what a model, this machine and an engine are.",
    "init": "Write a campaign file for a model, or from today's launch line.",
    "plan": "List what a campaign would run, and what cannot work and why.",
    "run": "Run a campaign file, or resume it.",
    "up": "Start a launch line, mending it until it answers sense.",
    "report": "Render a campaign's results: html, md, json, csv, parquet.",
    "export": "Write the winner as a command, service, manifest or engine config.",
    "compare": "Say what got better or worse between two results.",
    "verify": "Does production still match its campaign?",
    "bench": "Load any OpenAI-compatible server and measure it.",
    "check": "Check that a running server answers sense.",
    "diagnose": "Find the root cause and remedy in an engine's log.",
    "schema": "Print the JSON Schema of what a command prints with --json.",
    "mcp": "Serve coding agents over the Model Context Protocol.",
    "trial": "Run one trial: JSON in, events out (for places).",
}
"""Name to summary, in the order of the help page."""

INTERRUPTED = 130


class _LazyGroup(TyperGroup):
    """A group that imports a command's module when the command is called and not before."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"shakedown.cli.{cmd_name}")
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name=cmd_name)(module.command)
        command = typer.main.get_command(app)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = typer.Typer(
    cls=_LazyGroup,
    rich_markup_mode=None,
    no_args_is_help=True,
    epilog="Example: shakedown demo --out demo-result",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"shakedown {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Find, by measuring, the launch configuration of a language-model server that is correct and fastest."""


def main() -> None:
    """Run the command line and leave with its exit code; an expected error is one message and no traceback."""
    from shakedown.domain.errors import ShakedownError

    try:
        app()
    except ShakedownError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
