import json
from pathlib import Path

import pytest
import typer
from tests.unit.export.winners import sglang
from tests.unit.report.sample_results import demo_result
from typer.testing import CliRunner

from shakedown.cli import export as export_command
from shakedown.cli import report as report_command
from shakedown.domain.errors import ShakedownError, UserError
from shakedown.domain.result import CampaignResult
from shakedown.interchange.opened import open_result

runner = CliRunner()


def app(command: object) -> typer.Typer:
    made = typer.Typer()
    made.command()(command)
    return made


REPORT, EXPORT = app(report_command.command), app(export_command.command)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "result.json").write_text(demo_result().model_dump_json())
    return tmp_path


def call(program: typer.Typer, *arguments: object):
    return runner.invoke(program, [str(argument) for argument in arguments], catch_exceptions=False)


def test_without_a_format_the_tables_come_to_the_terminal(folder: Path) -> None:
    assert "Why the others lost" in call(REPORT, folder).stdout


def test_html_goes_into_the_folder_and_the_way_is_told(folder: Path) -> None:
    done = call(REPORT, folder, "--format", "html")
    assert done.stdout == ""
    assert done.stderr.strip() == f"wrote {folder / 'report.html'}"
    assert (folder / "report.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("arguments", [("--json",), ("--format", "json")])
def test_json_is_one_document_on_standard_output(folder: Path, arguments: tuple[str, ...]) -> None:
    document = json.loads(call(REPORT, folder, *arguments).stdout)
    assert CampaignResult.model_validate(document).winner == demo_result().winner


def test_a_copied_folder_is_named_by_where_it_lies_now(folder: Path) -> None:
    assert json.loads(call(REPORT, folder, "--json").stdout)["campaign"]["folder"] == str(folder)


def test_markdown_file_brings_its_pictures(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "pull" / "request.md"
    call(REPORT, folder, "--out", out)
    assert "(timeline-1.png)" in out.read_text()
    assert (out.parent / "timeline-1.png").is_file()


def test_markdown_on_standard_output_refers_to_no_picture(folder: Path) -> None:
    assert ".png" not in call(REPORT, folder, "--format", "md").stdout


def test_a_result_file_alone_is_enough(folder: Path) -> None:
    assert call(REPORT, folder / "result.json", "--format", "csv").stdout.startswith("id,label,verdict")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "no result: neither JSON nor lines of JSON"),
        ("[]", "no result: expected a JSON object"),
        ('{"schema": "other/9"}', "no result that Shakedown knows"),
        ('{"schema": "shakedown/1", "campaign": {"name": 7}}', "no result of schema shakedown/1: campaign.name"),
    ],
)
def test_files_that_are_no_result_are_told_by_name_and_place(tmp_path: Path, content: str, told: str) -> None:
    (tmp_path / "result.json").write_text(content)
    with pytest.raises(UserError, match=told):
        open_result(tmp_path / "result.json")


def test_folders_without_a_campaign_are_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file or folder"):
        open_result(tmp_path / "nowhere")
    with pytest.raises(ShakedownError, match=str(tmp_path)):
        open_result(tmp_path)


def test_unknown_format_names_the_known_ones(folder: Path) -> None:
    with pytest.raises(UserError, match="unknown; one of csv, html, json, md, parquet"):
        call(REPORT, folder, "--format", "pdf")


def test_report_that_cannot_be_written_names_the_way_out(folder: Path) -> None:
    with pytest.raises(UserError, match=r"cannot be written: .*; choose another place with --out"):
        call(REPORT, folder, "--format", "html", "--out", folder / "result.json" / "x.html")


def test_export_writes_files_fit_for_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(sglang().model_dump_json())
    done = call(EXPORT, tmp_path, "--format", "systemd", "--out", tmp_path / "units")
    unit, env = tmp_path / "units" / "qwen3-5-397b.service", tmp_path / "units" / "qwen3-5-397b.env"
    assert "ExecStart=/opt/ml-env/bin/python3" in unit.read_text()
    assert env.stat().st_mode & 0o777 == 0o600  # secrets will be filled in
    assert "places marked FILL_IN" in done.stderr
    call(EXPORT, tmp_path, "--format", "command", "--out", tmp_path)
    assert (tmp_path / "start-qwen3-5-397b.sh").stat().st_mode & 0o111


def test_export_comes_to_standard_output_or_as_json(folder: Path) -> None:
    assert call(EXPORT, folder, "--format", "compose").stdout.startswith("# Proved by the Shakedown campaign demo")
    assert "# ---- smollm2-135m.service" in call(EXPORT, folder, "--format", "systemd").stdout
    document = json.loads(call(EXPORT, folder, "--format", "kubernetes", "--json").stdout)
    assert list(document["files"]) == ["smollm2-135m.yaml"]
