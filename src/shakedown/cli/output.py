"""Where a command's document goes: a file, or standard output; and how wide what people read is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from shakedown.domain.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

PIPED_WIDTH = 140
"""Columns where no terminal says how wide a table may be: a file, a pipe, a log of CI."""


def console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal, or as tables need where there is none."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else PIPED_WIDTH)


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
