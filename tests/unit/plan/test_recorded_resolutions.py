"""The rules against what SGLang's own resolution said of 87 lines (0.5.17 and 0.5.23 on SM90, 0.5.17 on SM100)."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.campaigns import campaign
from tests.fakes.machines import H200_X8
from tests.fakes.shapes import SHAPES

from shakedown.domain.facts import DraftHeads, EngineFacts, MachineFacts, ModelFacts
from shakedown.domain.words import EngineKind
from shakedown.engines.registry import engine_for
from shakedown.inspect.checkpoint import inspect_model
from shakedown.plan.planner import make_plan

RECORDED = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "sglang_resolutions.jsonl").read_text(encoding="utf-8").splitlines()
]
DIES_LATER = "sglang-trtllm-moe-needs-sm100"
"""On SM90 the argument check lets it pass; the launch died after 113 s."""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ModelFacts]:
    facts = {}
    for kind, name in (("dense", "llama-3.2-1b"), ("hybrid", "qwen3.5-35b-a3b")):
        folder = tmp_path_factory.mktemp(kind)
        (folder / "config.json").write_text(json.dumps(SHAPES[name].config))
        facts[kind] = inspect_model(folder)
    facts["hybrid"] = facts["hybrid"].model_copy(update={"draft": DraftHeads(promised=1, present=1)})
    return facts


def machine(sm: int) -> MachineFacts:
    if sm == 90:
        return H200_X8
    blackwell = {"name": "NVIDIA B200", "compute_capability": "10.0"}
    return H200_X8.model_copy(update={"gpus": tuple(gpu.model_copy(update=blackwell) for gpu in H200_X8.gpus or ())})


@pytest.mark.parametrize("line", RECORDED, ids=lambda line: f"{line['version']}-sm{line['sm']}-{line['args']}")
def test_rules_say_what_the_engine_said(line: dict[str, Any], models: dict[str, ModelFacts]) -> None:
    spec = campaign('[engine]\nkind = "sglang"\n')
    spec = spec.model_copy(update={"engine": spec.engine.model_copy(update={"args": line["args"]})})
    installed = EngineFacts(kind=EngineKind.SGLANG, version=line["version"])
    plan = make_plan(spec, engine_for(EngineKind.SGLANG), models[line["model"]], machine(line["sm"]), installed)
    pruned = {entry.rule for entry in plan.pruned} - {DIES_LATER}
    assert bool(pruned) == (line["refused"] is not None), line["refused"] or pruned
