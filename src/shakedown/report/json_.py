"""The result as JSON, schema ``shakedown/1``: the same document that ``run --json`` prints."""

from __future__ import annotations

from shakedown.domain.result import CampaignResult
from shakedown.report.base import Document, Format


def dump(result: CampaignResult) -> str:
    """Return the document with a final newline; infinities are strings, so that every parser can read it."""
    return result.model_dump_json(indent=2) + "\n"


FORMAT = Format(name="json", suffix=".json", make=lambda result, _: Document.of(dump(result)))
