"""``shakedown export``: the files that put the winner into production."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from shakedown.domain.errors import UserError
from shakedown.export.registry import export
from shakedown.export.service import FILL_IN
from shakedown.interchange.opened import open_result


def command(
    folder: Annotated[Path, typer.Argument(help="Results folder of a campaign, or its result.json.", metavar="DIR")],
    format_: Annotated[
        str, typer.Option("--format", help="command, systemd, compose, kubernetes, engine or prometheus.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder to write into. Without it the files go to standard output.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="File names and texts as one JSON document.")] = False,
) -> None:
    """Write the winner as a shell command, systemd unit, Compose file, Kubernetes manifest, engine file or alert rules.

    Secrets are never written; values that you must give are marked FILL_IN.

    Example: shakedown export shakedown-demo --format systemd --out units
    """
    files = export(open_result(folder), format_)
    if out is not None:
        _write(files, out)
    if as_json:
        typer.echo(json.dumps({"format": format_, "files": files}, ensure_ascii=False, indent=2))
    elif out is None:
        for name, text in files.items():
            typer.echo(text if len(files) == 1 else f"# ---- {name}\n{text}", nl=False)
    marks = sum(text.count(FILL_IN) for text in files.values())
    typer.echo(f"{', '.join(files)}: {marks} places marked {FILL_IN}", err=True)


def _write(files: dict[str, str], out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (out / name).write_text(text, encoding="utf-8")
            if name.endswith(".sh"):
                (out / name).chmod(0o755)
            elif name.endswith(".env"):
                (out / name).chmod(0o600)  # secrets will be filled in
    except OSError as error:
        raise UserError(f"{out}: cannot be written: {error.strerror}; choose another place with --out") from error
