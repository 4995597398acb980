"""Request records on disk: Parquet, one row a request, every arrival kept."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from shakedown.domain.errors import StoreError
from shakedown.domain.request import RequestRecord, TokenCount

_ROWS_PER_GROUP = 2000
_PLAIN = (
    "index", "scheduled_ns", "sent_ns", "input_tokens", "output_tokens", "requested_tokens", "error", "error_detail",
    "finish_reason", "prompt_digest", "drafted_tokens", "accepted_tokens", "end_ns", "streamed",
)  # fmt: skip


def records_name(workload: str, concurrency: int | None, request_rate: float | None, repeat: int) -> str:
    """Name of the file with a load point's request records."""
    load = f"c{concurrency}" if concurrency is not None else f"r{request_rate or 0:g}"
    return f"{workload}-{load}-{repeat}.parquet"


def _schema() -> Any:
    import pyarrow as pa

    counts = {name: pa.int32() for name in ("input_tokens", "output_tokens", "requested_tokens")}
    counts |= {name: pa.int32() for name in ("drafted_tokens", "accepted_tokens")}
    types = {
        "index": pa.int64(), "scheduled_ns": pa.int64(), "sent_ns": pa.int64(), "end_ns": pa.int64(),
        "prompt_digest": pa.int64(), "error": pa.string(), "error_detail": pa.string(), "finish_reason": pa.string(),
        "streamed": pa.bool_(), **counts,
    }  # fmt: skip
    fields = [(name, types[name]) for name in _PLAIN]
    lists = [("arrivals_ns", pa.list_(pa.int64())), ("event_tokens", pa.list_(pa.int32()))]
    return pa.schema([*fields, ("token_count", pa.string()), *lists], metadata={"clock": "perf_counter_ns"})


def write_parquet(records: Iterable[RequestRecord], path: Path) -> None:
    """Write records, row group by row group; the file appears whole or not at all.

    Raises:
        StoreError: if it cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema()
    partial = path.with_name(path.name + ".partial")
    try:
        with pq.ParquetWriter(partial, schema, compression="zstd") as writer:
            for rows in _groups(records):
                columns: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in _PLAIN}
                columns["token_count"] = [row.token_count.value for row in rows]
                columns["arrivals_ns"] = _lists([row.arrivals_ns for row in rows], pa.int64())
                columns["event_tokens"] = _lists([row.event_tokens for row in rows], pa.int32())
                writer.write_table(pa.table(columns, schema=schema))
        partial.replace(path)
    except OSError as error:
        raise StoreError(f"{path}: request records cannot be written: {error}") from error


def _groups(records: Iterable[RequestRecord]) -> Iterator[Sequence[RequestRecord]]:
    rest = iter(records)
    while rows := list(islice(rest, _ROWS_PER_GROUP)):
        yield rows


def _lists(values: Sequence[array[int]], kind: Any) -> Any:
    """A list column without a Python object for each element."""
    import numpy as np
    import pyarrow as pa

    offsets = np.concatenate(([0], np.cumsum([len(value) for value in values]))).astype(np.int32)
    dtype = np.int64 if kind == pa.int64() else np.int32
    flat = np.concatenate([np.frombuffer(value, dtype=dtype) for value in values]) if values else np.empty(0, dtype)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat, kind))


def read_parquet(path: Path) -> list[RequestRecord]:
    """Read records back, equal to what was written.

    Raises:
        StoreError: if the file cannot be read.
    """
    return list(iterate_parquet(path))


def iterate_parquet(path: Path) -> Iterator[RequestRecord]:
    """Read records one row group at a time.

    Raises:
        StoreError: if the file cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            for number in range(file.num_row_groups):
                yield from _rows(file.read_row_group(number))
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{path}: request records cannot be read: {error}") from error


def _rows(table: Any) -> Iterator[RequestRecord]:
    plain = {name: table.column(name).to_pylist() for name in _PLAIN}
    counts = table.column("token_count").to_pylist()
    arrivals = table.column("arrivals_ns").combine_chunks()
    tokens = table.column("event_tokens").combine_chunks()
    for row in range(table.num_rows):
        yield RequestRecord(
            **{name: plain[name][row] for name in _PLAIN},
            token_count=TokenCount(counts[row]),
            arrivals_ns=array("q", arrivals[row].values.to_numpy().tobytes()),
            event_tokens=array("i", tokens[row].values.to_numpy().tobytes()),
        )
