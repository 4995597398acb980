"""The published schemas: as the commands print them, and true of what the commands print."""

import json
from pathlib import Path

import pytest
import typer
from tests.fakes.gguf_files import write_tiny_gguf
from tests.unit.cli.test_compare_command import bench_file
from tests.unit.cli.test_main import Run, shakedown
from tests.unit.export.winners import WINNERS
from tests.unit.report.sample_results import demo_result, hostile_result

from shakedown.cli.documents import DOCUMENTS, json_schema
from shakedown.cli.main import COMMANDS, app

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed (extra 'dev')")

__all__ = ["shakedown"]
PUBLISHED = Path(__file__).parents[3] / "docs" / "schema"


def holds(command: str, document: object) -> None:
    jsonschema.Draft202012Validator(json_schema(command)).validate(document)


def test_every_command_that_prints_a_document_has_a_schema() -> None:
    assert set(DOCUMENTS) == set(COMMANDS) - {"schema", "mcp"}


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"trial", "mcp"}))  # these speak nothing but JSON
def test_every_command_takes_json(name: str) -> None:
    group = typer.main.get_command(app)
    assert any("--json" in option.opts for option in group.get_command(None, name).params)  # type: ignore[attr-defined, arg-type]


def test_published_schemas_are_the_present_ones(tmp_path: Path, shakedown: Run) -> None:
    shakedown("schema", "--out", str(tmp_path))
    files = {file.name: file.read_text() for file in tmp_path.iterdir()}
    published = {file.name: file.read_text() for file in PUBLISHED.iterdir()}
    assert files == published, "write them again: shakedown schema --out docs/schema"


def test_schemas_are_schemas() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema("compare"))


@pytest.mark.parametrize("result", [demo_result(), hostile_result(), WINNERS["sglang"]])
def test_results_hold(result) -> None:
    holds("report", json.loads(result.model_dump_json()))


def test_a_wrong_document_does_not_hold() -> None:
    document = json.loads(demo_result().model_dump_json())
    document["candidates"][0]["verdict"] = "splendid"
    with pytest.raises(jsonschema.ValidationError, match="splendid"):
        holds("report", document)


def test_documents_of_commands_hold(shakedown: Run, tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "model.gguf")
    campaign = tmp_path / "campaign.toml"
    fast, slow = (bench_file(tmp_path / f"{speed}.json", speed, speed * 1.01, speed * 0.99) for speed in (100, 50))
    (tmp_path / "result.json").write_text(demo_result().model_dump_json())
    (tmp_path / "server.log").write_text("error: quantized V cache requires flash_attn to be enabled\n")
    calls = {
        ("inspect", str(tmp_path / "model.gguf")): 0,
        ("init", str(tmp_path / "model.gguf"), "--engine", "llama.cpp", "--out", str(campaign)): 0,
        ("plan", str(campaign)): 0,
        ("diagnose", str(tmp_path / "server.log"), "--engine", "llama.cpp"): 0,
        ("diagnose", "--explain", "llama-quantized-v-cache-without-flash-attention"): 0,
        ("compare", str(fast), str(slow)): 4,
        ("report", str(fast)): 0,
        ("export", str(tmp_path), "--format", "systemd"): 0,
    }
    for words, code in calls.items():
        left, out, err = shakedown(*words, "--json")
        assert left == code, err
        holds(words[0], json.loads(out))


def test_schema_of_one_command_and_of_all(shakedown: Run, tmp_path: Path) -> None:
    code, out, _ = shakedown("schema", "bench")
    assert (code, json.loads(out)["title"]) == (0, "shakedown bench --json")
    assert set(json.loads(shakedown("schema")[1])) == set(DOCUMENTS)
    code, _, err = shakedown("schema", "mcp")
    assert (code, "no command with a JSON document" in err) == (2, True)
