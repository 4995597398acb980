"""``shakedown report``: a campaign's result, in the terminal or as a document."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.console import Console

from shakedown.campaign.results import RESULT_NAME, load_result
from shakedown.domain.errors import UserError
from shakedown.domain.result import CampaignResult
from shakedown.report.base import Document, Format, formats
from shakedown.report.terminal import render


def command(
    folder: Annotated[Path, typer.Argument(help="Results folder of a campaign, or its result.json.", metavar="DIR")],
    format_: Annotated[
        str | None, typer.Option("--format", help="html, md, json, csv or parquet; without it, tables in the terminal.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write. Without it: html into the folder, the others to standard output."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Report on a campaign: finished, still running, failed, or copied from elsewhere.

    Example: shakedown report shakedown-demo --format html
    """
    name = "json" if as_json else format_
    if name is None and out is not None:
        name = _format_of(out)
    form = None if name is None else _format(name)
    result = load(folder)
    if form is None:
        render(result, Console())
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


def load(folder: Path) -> CampaignResult:
    """Return the result of the campaign in ``folder``, or the one in the file ``folder``.

    A finished campaign left its result in ``result.json``; one that runs or was broken off is judged from its store.

    Raises:
        UserError: there is no campaign, or the file is no result.
        StoreError: the store cannot be read.
    """
    if folder.is_file():
        return _read(folder)
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; give the one that `shakedown run --out` or `demo --out` wrote")
    file = folder / RESULT_NAME
    if file.is_file():
        result = _read(file)
        if result.campaign.complete:
            # The folder may have been copied or moved since.
            here = result.campaign.model_copy(update={"folder": str(folder)})
            return result.model_copy(update={"campaign": here})
    return load_result(folder)


def _read(file: Path) -> CampaignResult:
    try:
        return CampaignResult.model_validate_json(file.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "document"
        raise UserError(f"{file}: no result of schema shakedown/1: {place}: {first['msg']}") from error
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from error


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
