import json
from pathlib import Path

import pytest
from tests.fakes.machines import H200_X8, NO_GPU, PRO_6000_X8, UNSEEN
from tests.fakes.shapes import SHAPES

from shakedown.domain.facts import DraftHeads, MachineFacts, ModelFacts
from shakedown.domain.spec_file import parse_campaign
from shakedown.domain.words import EngineKind
from shakedown.inspect.checkpoint import inspect_model
from shakedown.plan.draft import draft_campaign
from shakedown.plan.launch_line import LaunchLine, parse_launch_line


def model(name: str, folder: Path) -> ModelFacts:
    (folder / "config.json").write_text(json.dumps(SHAPES[name].config))
    return inspect_model(folder)


@pytest.mark.parametrize("kind", EngineKind)
@pytest.mark.parametrize("machine", [H200_X8, PRO_6000_X8, NO_GPU, UNSEEN, None])
def test_every_draft_is_a_valid_campaign(kind: EngineKind, machine: MachineFacts | None, tmp_path: Path) -> None:
    for facts in (model("qwen3.5-35b-a3b", tmp_path), None):
        spec = parse_campaign(draft_campaign(LaunchLine(kind=kind, model="/m/x.gguf"), facts, machine), "draft.toml")
        assert spec.engine.kind is kind
        assert spec.model_ref().name == "x"
        assert spec.vary


def test_the_parallelism_fits_machine_and_heads(tmp_path: Path) -> None:
    facts = model("qwen3.5-397b-a17b", tmp_path)
    line = LaunchLine(kind=EngineKind.SGLANG, model="/m")
    assert parse_campaign(draft_campaign(line, facts, H200_X8), "d").engine.args == {"tp-size": 8}
    odd = facts.model_copy(update={"heads": 36})
    assert parse_campaign(draft_campaign(line, odd, H200_X8), "d").engine.args == {"tp-size": 4}


def test_todays_line_is_the_reference(tmp_path: Path) -> None:
    facts = model("qwen3.5-35b-a3b", tmp_path)
    line = parse_launch_line("A=1 python3 -m sglang.launch_server --model-path /m --tp 8 --kv-cache-dtype fp8_e4m3")
    spec = parse_campaign(draft_campaign(line, facts, H200_X8), "d")
    args = dict(spec.engine.args)
    for dimension in spec.vary:
        args |= dimension.choices[0].args
    assert args == {"tp": 8, "kv-cache-dtype": "fp8_e4m3"}
    assert spec.engine.env == {"A": "1"}


def test_speculation_is_proposed_where_there_are_heads_for_it(tmp_path: Path) -> None:
    facts = model("qwen3.5-397b-a17b", tmp_path)
    line = LaunchLine(kind=EngineKind.SGLANG, model="/m")
    heads = facts.model_copy(update={"draft": DraftHeads(promised=1, present=1)})
    assert "NEXTN" in draft_campaign(line, heads, H200_X8)
    assert "NEXTN" not in draft_campaign(line, facts, H200_X8)


def test_parsers_follow_the_chat_template(tmp_path: Path) -> None:
    facts = model("qwen3-8b", tmp_path).model_copy(update={"chat_markers": ("<think>", "<tool_call>")})
    sglang = parse_campaign(draft_campaign(LaunchLine(kind=EngineKind.SGLANG, model="/m"), facts, None), "d")
    assert sglang.engine.args == {"reasoning-parser": "qwen3", "tool-call-parser": "qwen25"}
    vllm = parse_campaign(draft_campaign(LaunchLine(kind=EngineKind.VLLM, model="/m"), facts, None), "d")
    assert vllm.engine.args["tool-call-parser"] == "hermes"
