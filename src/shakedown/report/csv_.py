"""The result as CSV; an empty cell is a value that was not measured."""

from __future__ import annotations

import csv
import io

from shakedown.domain.result import CampaignResult
from shakedown.report.base import Document, Format
from shakedown.report.flat import COLUMNS, rows


def dump(result: CampaignResult) -> str:
    """Return the table with its header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows(result))
    return text.getvalue()


FORMAT = Format(name="csv", suffix=".csv", make=lambda result, _: Document.of(dump(result)))
