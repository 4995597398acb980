"""``inspect``, ``plan`` and ``init`` as they are called."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.fakes.checkpoints import dense, plain, write_checkpoint
from tests.fakes.machines import PRO_6000_X8
from tests.fakes.shapes import SHAPES
from typer.testing import CliRunner, Result

from shakedown.cli import init, inspect, plan
from shakedown.domain.errors import UserError
from shakedown.domain.facts import EngineFacts
from shakedown.domain.spec_file import parse_campaign
from shakedown.domain.words import EngineKind

CAMPAIGN = """
[campaign]
name = "c"
[model]
path = "model"
[engine]
kind = "sglang"
python = "/opt/nowhere/python3"
args = { tp = 2 }
[[vary]]
name = "attention"
arg = "attention-backend"
values = ["triton", "fa3"]
[[workload]]
name = "w"
concurrency = [1, 8]
"""


def call(module: Any, *words: str) -> Result:
    app = typer.Typer()
    app.command()(module.command)
    return CliRunner().invoke(app, list(words), catch_exceptions=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    config = {**SHAPES["llama-3.2-1b"].config, "num_hidden_layers": 2}
    write_checkpoint(tmp_path / "model", config, dense(config, plain))
    (tmp_path / "c.toml").write_text(CAMPAIGN)
    (tmp_path / "box.json").write_text(PRO_6000_X8.model_dump_json())
    return tmp_path


def test_inspect_prints_three_objects(folder: Path) -> None:
    result = call(inspect, str(folder / "model"), "--json")
    document = json.loads(result.stdout)
    assert list(document) == ["model", "machine", "engine"]
    assert document["model"]["architecture"] == "LlamaForCausalLM"
    assert document["machine"]["threads"] >= 1
    assert document["engine"] is None


def test_inspect_prints_a_page(folder: Path) -> None:
    result = call(inspect, str(folder / "model"))
    assert result.exit_code == 0
    assert "LlamaForCausalLM" in result.stdout
    assert "2 attention layers" in result.stdout
    assert "Machine" in result.stdout


def test_inspect_of_no_model_is_one_clear_error(folder: Path) -> None:
    result = call(inspect, str(folder / "nowhere"))
    assert isinstance(result.exception, UserError)
    assert "no such file or folder" in str(result.exception)


def test_plan_for_another_machine_needs_no_engine_here(folder: Path) -> None:
    result = call(plan, str(folder / "c.toml"), "--machine", str(folder / "box.json"), "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert {"schema", "campaign", "machine", "model", "engine", "candidates", "pruned", "capacity", "ceiling"} <= set(
        document
    )
    assert [candidate["label"] for candidate in document["candidates"]] == ["baseline"]
    (pruned,) = document["pruned"]
    assert (pruned["label"], pruned["rule"]) == ("attention=fa3", "fa3-needs-hopper")
    assert pruned["sources"]
    assert document["capacity"][0]["gpus"] == 2
    assert document["ceiling"][0]["points"][0]["concurrency"] == 1


def test_plan_takes_the_engine_from_a_whole_inspection(folder: Path) -> None:
    engine = EngineFacts(kind=EngineKind.SGLANG, version="0.5.10", python="/opt/nowhere/python3")
    whole = {
        "model": None,
        "machine": json.loads(PRO_6000_X8.model_dump_json()),
        "engine": engine.model_dump(mode="json"),
    }
    (folder / "whole.json").write_text(json.dumps(whole))
    result = call(plan, str(folder / "c.toml"), "--machine", str(folder / "whole.json"), "--json")
    document = json.loads(result.stdout)
    assert document["engine"]["version"] == "0.5.10"
    assert document["candidates"][0]["engine"]["versions"] == {"sglang": "0.5.10"}


def test_plan_prints_a_page(folder: Path) -> None:
    result = call(plan, str(folder / "c.toml"), "--machine", str(folder / "box.json"), "--engine-version", "0.5.10")
    assert result.exit_code == 0
    for words in ("1 candidates to run", "fa3-needs-hopper", "What fits", "no prediction", "load points"):
        assert words in result.stdout


def test_plan_here_says_that_the_engine_is_not_installed(folder: Path) -> None:
    result = call(plan, str(folder / "c.toml"))
    assert result.exit_code == 0
    assert "rules stand in for it" in result.stdout


def test_a_bad_machine_file_is_one_clear_error(folder: Path) -> None:
    (folder / "box.json").write_text('{"gpus": 8}')
    result = call(plan, str(folder / "c.toml"), "--machine", str(folder / "box.json"))
    assert isinstance(result.exception, UserError)
    assert "not a machine description: gpus" in str(result.exception)


def test_init_writes_a_campaign_that_plan_takes(folder: Path) -> None:
    out = folder / "new.toml"
    words = (str(folder / "model"), "--engine", "sglang", "--machine", str(folder / "box.json"), "--out", str(out))
    assert call(init, *words).exit_code == 0
    spec = parse_campaign(out.read_text(), "new.toml")
    assert spec.engine.args == {"tp-size": 8}
    assert call(plan, str(out), "--machine", str(folder / "box.json")).exit_code == 0
    again = call(init, *words)
    assert isinstance(again.exception, UserError)
    assert "exists" in str(again.exception)
    assert call(init, *words, "--force").exit_code == 0


def test_init_from_a_line(folder: Path) -> None:
    line = "vllm serve /models/of/another/machine --tensor-parallel-size 4"
    result = call(init, "--from", line, "--out", "-")
    assert result.exit_code == 0
    assert "cannot be read from here" in result.stderr
    spec = parse_campaign(result.stdout, "new.toml")
    assert spec.engine.kind is EngineKind.VLLM
    assert spec.engine.args["tensor-parallel-size"] == 4


def test_init_needs_something_to_go_by() -> None:
    result = call(init)
    assert isinstance(result.exception, UserError)
    assert "--from" in str(result.exception)
