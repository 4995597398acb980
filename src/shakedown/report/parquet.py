"""The result as Parquet: the table of the CSV with types, for pandas, Polars and DuckDB."""

from __future__ import annotations

import io

from shakedown.domain.result import CampaignResult
from shakedown.report.base import Document, Format
from shakedown.report.flat import COLUMNS, TEXT_COLUMNS, WHOLE_COLUMNS, rows


def dump(result: CampaignResult) -> bytes:
    """Return the file; the campaign's name and schema stand in its metadata."""
    # Imported here: a quarter of a second, and only this format needs it.
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {name: pa.string() for name in TEXT_COLUMNS} | {name: pa.int64() for name in WHOLE_COLUMNS}
    told = {"shakedown.schema": result.schema_, "shakedown.campaign": result.campaign.name}
    schema = pa.schema([(name, types.get(name, pa.float64())) for name in COLUMNS], metadata=told)
    table = pa.Table.from_pylist([dict(zip(COLUMNS, row, strict=True)) for row in rows(result)], schema=schema)
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


FORMAT = Format(name="parquet", suffix=".parquet", make=lambda result, _: Document(dump(result)))
