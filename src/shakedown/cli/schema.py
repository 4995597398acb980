"""``shakedown schema``: the JSON Schema of what each command prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

SAME_AS_REPORT = ("demo", "run")
"""Commands whose document is report's: one file is enough for all three."""


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="COMMAND", help="The command whose --json is meant.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write all of them into, COMMAND.json each.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As always: schemas are JSON.")] = False,
) -> None:
    """Print the JSON Schema of a command's --json document, or of all, keyed by command.

    Example: shakedown schema bench
    """
    from shakedown.cli.documents import DOCUMENTS, json_schema
    from shakedown.cli.output import write_or_print
    from shakedown.domain.errors import UserError

    if name is not None and name not in DOCUMENTS:
        raise UserError(f"{name}: no command with a JSON document; there are {', '.join(DOCUMENTS)}")
    names = [name] if name is not None else list(DOCUMENTS)
    schemas = {one: json_schema(one) for one in names}
    if out is None:
        document = schemas if name is None else schemas[name]
        write_or_print(json.dumps(document, indent=2, ensure_ascii=False) + "\n", None)
        return
    for one, schema in schemas.items():
        if one in SAME_AS_REPORT and name is None:
            continue
        write_or_print(json.dumps(schema, indent=2, ensure_ascii=False) + "\n", out / f"{one}.json")
