"""``shakedown report``: a campaign's result, in the terminal or as a document."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from shakedown.cli.output import console
from shakedown.domain.errors import UserError
from shakedown.interchange.opened import open_result
from shakedown.report import mlflow_run
from shakedown.report.base import Document, Format, formats
from shakedown.report.terminal import render


def command(  # noqa: PLR0917 - typer makes options of them
    folder: Annotated[Path, typer.Argument(help="Results folder of a campaign, or its result.json.", metavar="DIR")],
    format_: Annotated[
        str | None, typer.Option("--format", help="html, md, json, csv, parquet or vllm; without it, terminal tables.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write. Without it: html into the folder, the others to standard output."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    mlflow: Annotated[
        str | None, typer.Option(help="Log to this MLflow tracking server, or file:FOLDER.", metavar="URI")
    ] = None,
    experiment: Annotated[str, typer.Option(help="MLflow's experiment.")] = "shakedown",
) -> None:
    """Report on a campaign: finished, still running, failed, or copied from elsewhere.

    Example: shakedown report shakedown-demo --format html
    """
    name = "json" if as_json else format_
    if name is None and out is not None:
        name = _format_of(out)
    form = None if name is None else _format(name)
    result = open_result(folder)
    if mlflow is not None:
        typer.echo(f"logged to {mlflow} as run {mlflow_run.log(result, mlflow, experiment)}", err=True)
        if form is None:
            return
    if form is None:
        render(result, console())
        return
    target = out
    if target is None and form.name == "html":
        target = (folder if folder.is_dir() else folder.parent) / "report.html"
    if target is None and form.name == "parquet" and sys.stdout.isatty():
        raise UserError("--format parquet is not for a terminal: give a file with --out")
    document = form.make(result, target is not None)
    if target is None:
        sys.stdout.buffer.write(document.content)
    else:
        _write(document, target)
        typer.echo(f"wrote {target}", err=True)


def _format(name: str) -> Format:
    known = formats()
    if name not in known:
        raise UserError(f"--format {name}: unknown; one of {', '.join(sorted(known))}")
    return known[name]


def _format_of(out: Path) -> str:
    """The format that a file's ending asks for."""
    return out.suffix.removeprefix(".") or "html"


def _write(document: Document, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(document.content)
        for name, content in document.pictures.items():
            (target.parent / name).write_bytes(content)
    except OSError as error:
        raise UserError(f"{target}: cannot be written: {error.strerror}; choose another place with --out") from error
