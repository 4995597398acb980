import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.unit.report.sample_results import demo_result, hostile_result

from shakedown.domain.result import CampaignResult
from shakedown.report.base import formats
from shakedown.report.flat import COLUMNS


def made(name: str, result: CampaignResult) -> str:
    return formats()[name].make(result, False).content.decode()


def test_formats_are_found_by_themselves() -> None:
    assert sorted(formats()) == ["csv", "html", "json", "md", "parquet", "vllm"]


@pytest.mark.parametrize("result", [demo_result(), hostile_result(), demo_result(complete=False)])
def test_json_reads_back_equal(result: CampaignResult) -> None:
    assert CampaignResult.model_validate_json(made("json", result)) == result


def test_json_has_the_published_keys() -> None:
    document = json.loads(made("json", demo_result()))
    assert document["schema"] == "shakedown/1"
    top = "campaign machine model engine candidates comparisons winner findings"
    assert set(top.split()) <= set(document)
    candidate = (
        "id label args env derived_from mended_by verdict reason rule failure effective warnings boot_s points standing"
    )
    assert set(candidate.split()) <= set(document["candidates"][0])
    assert {"id", "label", "command", "why"} == set(document["winner"])
    assert document["candidates"][3]["standing"] is None  # not measured is null


def test_csv_has_a_row_for_each_point_and_for_each_candidate_without_points() -> None:
    result = demo_result()
    rows = list(csv.DictReader(io.StringIO(made("csv", result))))
    assert len(rows) == sum(max(len(candidate.points), 1) for candidate in result.candidates)
    assert tuple(rows[0]) == COLUMNS
    first = result.candidates[0].points[0]
    assert float(rows[0]["output_tokens_per_s"]) == first.output_tokens_per_s
    assert first.ttft_s is not None
    assert float(rows[0]["ttft_s_p99"]) == first.ttft_s.p99
    refused = next(row for row in rows if row["verdict"] == "pruned")
    assert refused["output_tokens_per_s"] == ""


def test_parquet_holds_the_same_table_with_types() -> None:
    content = formats()["parquet"].make(demo_result(), False).content
    table = pq.read_table(io.BytesIO(content))
    assert tuple(table.column_names) == COLUMNS
    text = list(csv.reader(io.StringIO(made("csv", demo_result()))))[1:]
    for row, written in zip(table.to_pylist(), text, strict=True):
        assert ["" if value is None else str(value) for value in row.values()] == written
    assert str(table.schema.field("output_tokens_per_s").type) == "double"
    assert str(table.schema.field("concurrency").type) == "int64"
    assert table.schema.metadata[b"shakedown.campaign"] == b"demo"


@pytest.mark.parametrize("reader", ["pandas", "polars", "duckdb"])
def test_parquet_opens_where_people_work(reader: str, tmp_path: Path) -> None:
    library = pytest.importorskip(reader, reason=f"{reader} is not installed; the table was read by pyarrow above")
    file = tmp_path / "all.parquet"
    file.write_bytes(formats()["parquet"].make(demo_result(), False).content)
    rows = library.sql(f"from '{file}'").fetchall() if reader == "duckdb" else library.read_parquet(file)
    assert len(rows) == sum(max(len(candidate.points), 1) for candidate in demo_result().candidates)


def test_markdown_tells_the_verdict_and_keeps_hostile_text_as_text() -> None:
    text = made("md", demo_result()).replace("\u00a0", " ")
    assert text.startswith("# demo\n\n**speculation=ngram is the best choice: 11 % faster")
    assert "| C | Agg tok/s | Per-req tok/s | Tokens | Wall(s) | Ok | TTFT p50 | TPOT p50 |" in text
    hostile = made("md", hostile_result())
    prose = "".join(part for index, part in enumerate(hostile.split("```")) if index % 2 == 0)
    assert "<script>" not in prose
    assert "<img" not in prose
    rows = [line for line in prose.splitlines() if line.startswith("| ")]
    assert rows


def test_markdown_pictures_are_png_files_that_it_refers_to() -> None:
    document = formats()["md"].make(demo_result(), True)
    assert {"throughput-latency-1.png", "scaling-2.png", "speculation-1.png", "timeline-1.png"} <= set(
        document.pictures
    )
    for name, content in document.pictures.items():
        assert f"({name})" in document.content.decode()
        assert content.startswith(b"\x89PNG")
        assert len(content) > 10_000  # not an empty drawing
