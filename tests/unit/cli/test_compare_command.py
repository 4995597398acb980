"""``shakedown compare`` by its exit codes and documents."""

import json
from pathlib import Path

import pytest
import typer
from tests.unit.judge.campaigns import point
from tests.unit.report.sample_results import demo_result
from typer.testing import CliRunner

from shakedown.cli import compare as compare_command
from shakedown.domain.comparison import ComparisonResult
from shakedown.domain.errors import UserError
from shakedown.domain.words import ComparisonStatus

runner = CliRunner()
app = typer.Typer()
app.command()(compare_command.command)


def call(*words: object):
    return runner.invoke(app, [str(word) for word in words], catch_exceptions=False)


def bench_file(file: Path, *speeds: float, concurrency: int = 1) -> Path:
    points = [point("bench", concurrency, repeat, speed).model_dump(mode="json") for repeat, speed in enumerate(speeds)]
    document = {
        "schema": "shakedown/1", "server": {"base_url": "u", "model": "m", "engine": "vllm", "effective": {}},
        "points": points, "findings": [],
    }  # fmt: skip
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document))
    return file


@pytest.fixture
def fast(tmp_path: Path) -> Path:
    return bench_file(tmp_path / "fast.json", 100, 101, 99.5)


def test_equal_is_exit_0(fast: Path, tmp_path: Path) -> None:
    done = call(fast, bench_file(tmp_path / "again.json", 100.5, 100, 99.9), "--margin", "5%")
    assert done.exit_code == 0
    assert "No change: equal within the margin." in done.stdout


def test_worse_is_exit_4_and_says_where(fast: Path, tmp_path: Path) -> None:
    done = call(fast, bench_file(tmp_path / "slow.json", 50, 51, 49.5))
    assert done.exit_code == 4
    assert "worse in bench at concurrency 1: 0.5" in done.stdout


def test_nothing_in_common_is_exit_3(fast: Path, tmp_path: Path) -> None:
    assert call(fast, bench_file(tmp_path / "other.json", 100, 101, concurrency=8)).exit_code == 3


def test_json_is_one_document_that_reads_back(fast: Path, tmp_path: Path) -> None:
    done = call(fast, bench_file(tmp_path / "slow.json", 50, 51, 49.5), "--json")
    compared = ComparisonResult.model_validate_json(done.stdout)
    assert compared.status is ComparisonStatus.WORSE
    assert done.exit_code == 4


def test_markdown_holds_the_table_the_reasons_and_no_markup_of_strangers(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(demo_result().model_dump_json())
    other = demo_result()
    worse = other.candidates[0].model_copy(update={"label": other.candidates[0].label})
    (tmp_path / "after.json").write_text(
        other.model_copy(update={"candidates": (worse, *other.candidates[1:])}).model_dump_json()
    )
    out = tmp_path / "comment.md"
    assert call(tmp_path, tmp_path / "after.json", "--out", out).exit_code == 0
    text = out.read_text()
    assert text.startswith("### ")
    assert "| Candidate | Load | Before | After |" in text


def test_files_of_a_folder_are_launches(tmp_path: Path) -> None:
    for number, speed in enumerate((100, 103, 98)):
        bench_file(tmp_path / "a" / f"{number}" / "result.json", speed, speed)
        bench_file(tmp_path / "b" / f"{number}.json", speed / 2, speed / 2)
    done = call(tmp_path / "a", tmp_path / "b", "--json")
    compared = ComparisonResult.model_validate_json(done.stdout)
    assert compared.decision.launch_variance_measured
    assert done.exit_code == 4


def test_mistakes_are_one_clear_error(fast: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file or folder"):
        call(fast, tmp_path / "nowhere")
    with pytest.raises(UserError, match="--margin"):
        call(fast, fast, "--margin", "x")
    with pytest.raises(UserError, match="--format html: unknown; md or json"):
        call(fast, fast, "--format", "html")
