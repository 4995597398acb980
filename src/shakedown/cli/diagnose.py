"""``shakedown diagnose``: any engine's log to root cause and remedy."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from shakedown.domain.words import EngineKind

EXIT_NO_ROOT = 3
_BLOCK_BYTES = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"


def command(
    log: Annotated[str, typer.Argument(help="The log file, or - for standard input.")] = "",
    engine: Annotated[EngineKind | None, typer.Option(help="Who wrote it; default: recognised by its lines.")] = None,
    engine_version: Annotated[str | None, typer.Option(help="Chooses between remedies that differ by version.")] = None,
    explain: Annotated[str | None, typer.Option(help="Print one signature as a page and stop.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Say why a server failed: root line, cause, remedy, source. Exit 0 with a root, 3 without one.

    Example: shakedown diagnose server.log

    From a pipe: journalctl -u sglang | shakedown diagnose -
    """
    from shakedown.diagnose.diagnose import diagnose_blocks
    from shakedown.diagnose.page import diagnosis_text
    from shakedown.domain.errors import UserError

    if explain is not None:
        typer.echo(_explained(explain, as_json=json), nl=False)
        return
    if not log:
        raise UserError("name a log file, or - for standard input: shakedown diagnose server.log")
    diagnosis = diagnose_blocks(_read(log), engine=engine, engine_version=engine_version)
    if json:
        typer.echo(diagnosis.model_dump_json(indent=2))
    else:
        typer.echo(diagnosis_text(diagnosis), nl=False)
    if diagnosis.root is None:
        raise typer.Exit(EXIT_NO_ROOT)


def _explained(wanted: str, *, as_json: bool) -> str:
    from shakedown.diagnose.catalogue import signature_by_id, signatures
    from shakedown.diagnose.page import signature_page
    from shakedown.domain.errors import UserError
    from shakedown.domain.nearest import nearest

    signature = signature_by_id(wanted)
    if signature is None:
        near = nearest(wanted, (entry.id for entry in signatures()))
        hint = f" (did you mean {near!r}?)" if near else "; docs/signatures.md lists them all"
        raise UserError(f"--explain: there is no signature {wanted!r}{hint}")
    return signature.model_dump_json(indent=2) + "\n" if as_json else signature_page(signature)


def _read(log: str) -> Iterator[bytes]:
    from shakedown.domain.errors import UserError

    if log == "-":
        yield from _blocks(sys.stdin.buffer)
        return
    path = Path(log)
    try:
        with path.open("rb") as stream:
            yield from _blocks(_unpacked(stream))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(
            f"{log}: cannot be unpacked ({error}); read what there is of it: zcat {log} | shakedown diagnose -"
        ) from None
    except OSError as error:
        raise UserError(
            f"{log}: {error.strerror or error}; give the path of a log file, or - for standard input"
        ) from None


def _unpacked(stream: BufferedReader) -> BufferedReader | gzip.GzipFile:
    """Return what a rotated log holds: one that begins as gzip does is read through gzip, whatever its name."""
    return gzip.GzipFile(fileobj=stream) if stream.peek(2)[:2] == _GZIP_MAGIC else stream


def _blocks(stream: BinaryIO | BufferedReader | gzip.GzipFile) -> Iterator[bytes]:
    """Cut the stream into blocks that end with a line; a line longer than a block is handed on in pieces."""
    rest = b""
    while chunk := stream.read(_BLOCK_BYTES):
        block = rest + chunk
        cut = block.rfind(b"\n") + 1
        if cut == 0 and len(block) < 2 * _BLOCK_BYTES:
            rest = block
            continue
        cut = cut or len(block)
        yield block[:cut]
        rest = block[cut:]
    if rest:
        yield rest
