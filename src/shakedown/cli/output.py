"""Where a command's document goes: a file, or standard output."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from shakedown.domain.errors import UserError


def write_or_print(text: str, out: Path | None) -> None:
    """Write to the file, or print where none was named.

    Raises:
        UserError: the file cannot be written.
    """
    if out is None:
        sys.stdout.write(text)
        return
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{out}: cannot be written: {error.strerror}; choose another place with --out") from error
    typer.echo(f"wrote {out}", err=True)
