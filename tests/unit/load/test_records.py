from array import array
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shakedown.domain.errors import StoreError
from shakedown.domain.request import RequestRecord, TokenCount
from shakedown.load.records import read_parquet, write_parquet

times = st.integers(0, 2**62)
maybe = st.none() | st.integers(0, 2**31 - 1)
records = st.builds(
    RequestRecord,
    index=st.integers(0, 2**40),
    scheduled_ns=times,
    sent_ns=times,
    arrivals_ns=st.lists(times, max_size=9).map(lambda values: array("q", values)),
    event_tokens=st.lists(st.integers(0, 999), max_size=9).map(lambda values: array("i", values)),
    input_tokens=maybe,
    output_tokens=maybe,
    token_count=st.sampled_from(TokenCount),
    requested_tokens=maybe,
    error=st.none() | st.sampled_from(["timeout", "http_429"]),
    error_detail=st.text(max_size=20),
    finish_reason=st.none() | st.just("length"),
    prompt_digest=st.integers(0, 2**63 - 1),
    drafted_tokens=maybe,
    accepted_tokens=maybe,
    end_ns=times,
    streamed=st.booleans(),
)


@given(st.lists(records, max_size=8))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_written_is_read(tmp_path: Path, written: list[RequestRecord]) -> None:
    path = tmp_path / "records.parquet"
    write_parquet(written, path)
    assert read_parquet(path) == written
    assert [file.name for file in tmp_path.iterdir()] == ["records.parquet"]


def test_many_row_groups_keep_their_order(tmp_path: Path) -> None:
    written = [RequestRecord(number, 1, 2, array("q", [number, number + 1])) for number in range(4500)]
    write_parquet(written, tmp_path / "r.parquet")
    assert read_parquet(tmp_path / "r.parquet") == written


def test_unusable_places_are_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        write_parquet([], tmp_path / "no" / "r.parquet")
    (tmp_path / "r.parquet").write_text("not parquet")
    with pytest.raises(StoreError, match="cannot be read"):
        read_parquet(tmp_path / "r.parquet")
