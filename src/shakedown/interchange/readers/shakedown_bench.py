"""``bench --json``, and the ``result.json`` of ``bench --out``."""

from __future__ import annotations

from pydantic import TypeAdapter

from shakedown.domain.base import Scalar
from shakedown.domain.metric import PointSummary
from shakedown.domain.result import SCHEMA
from shakedown.interchange.base import Document, Measured, Reader, mapping

_POINTS = TypeAdapter(tuple[PointSummary, ...])
_EFFECTIVE = TypeAdapter(dict[str, Scalar | None])


def recognises(document: Document) -> bool:
    """Whether it is one."""
    return document.get("schema") == SCHEMA and "points" in document and "server" in document


def read(document: Document) -> Measured:
    """Take it as it is."""
    server = mapping(document["server"])
    model, engine = server.get("model"), server.get("engine")
    return Measured(
        points=_POINTS.validate_python(document["points"]),
        model=None if model is None else str(model),
        engine=None if engine is None else str(engine),
        effective=_EFFECTIVE.validate_python(server.get("effective", {})),
    )


READER = Reader(name="shakedown-bench", tool="shakedown bench", recognises=recognises, read=read)
