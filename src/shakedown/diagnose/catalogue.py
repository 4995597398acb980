"""All signatures, found by themselves: every ``signatures/<engine or any>/<id>.toml`` of this package."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from pydantic import ValidationError

from shakedown.diagnose.signature import Signature
from shakedown.domain.errors import ShakedownError
from shakedown.domain.words import EngineKind


class SignatureError(ShakedownError):
    """A signature file that cannot be read; the message names the file and what is wrong with it."""


@cache
def signatures() -> tuple[Signature, ...]:
    """Return all signatures, by id.

    Raises:
        SignatureError: if a file is no signature, or two share an id.
    """
    found: dict[str, Signature] = {}
    root = resources.files("shakedown.diagnose") / "signatures"
    for folder in sorted(root.iterdir(), key=lambda entry: entry.name):
        for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
            if file.name.endswith(".toml"):
                signature = _read(folder.name, file)
                if signature.id in found:
                    raise SignatureError(f"{folder.name}/{file.name}: the id {signature.id!r} is taken; ids are unique")
                found[signature.id] = signature
    return tuple(found.values())


def signature_by_id(wanted: str) -> Signature | None:
    """Return the signature with that id, or None."""
    return next((signature for signature in signatures() if signature.id == wanted), None)


def parse_signature(folder: str, name: str, text: str) -> Signature:
    """Read one signature from the text of its file.

    Raises:
        SignatureError: if it is none; the message names the file and what is wrong.
    """
    try:
        engine = None if folder == "any" else EngineKind(folder)
        content = {"id": name, "engine": engine, **tomllib.loads(text)}
        return Signature.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SignatureError(f"signatures/{folder}/{name}.toml: {place}: {first['msg']}") from error
    except ValueError as error:
        raise SignatureError(f"signatures/{folder}/{name}.toml: {error}") from error


def _read(folder: str, file: Traversable) -> Signature:
    return parse_signature(folder, file.name.removesuffix(".toml"), file.read_text(encoding="utf-8"))
