"""The campaign of the design: Qwen3.5-397B in NVFP4 on SGLang, eight RTX PRO 6000 over PCIe, and other machines."""

import time
from pathlib import Path

import pytest
from tests.fakes.campaigns import campaign
from tests.fakes.checkpoints import qwen35_nvfp4, write_checkpoint
from tests.fakes.machines import H200_X8, NO_GPU, PRO_6000_X8, RTX_5090, UNSEEN
from tests.fakes.shapes import QWEN35, QWEN35_TEXT

from shakedown.domain.facts import EngineFacts, MachineFacts, ModelFacts
from shakedown.domain.words import EngineKind
from shakedown.engines.registry import engine_for
from shakedown.inspect.checkpoint import inspect_model
from shakedown.plan.outcome import Plan
from shakedown.plan.page import plan_text
from shakedown.plan.planner import make_plan

HEAD = """
[campaign]
name = "qwen3.5-397b-sm120"
[model]
path = "/models/q"
[[workload]]
name = "coding"
input_tokens = 1000
output_tokens = 1000
concurrency = [1, 4, 16, 32]
"""
CAMPAIGN = """
[engine]
kind = "sglang"
python = "/opt/ml-env/bin/python3"
args = { tp = 8, trust-remote-code = true, quantization = "modelopt_fp4", attention-backend = "triton" }

[[vary]]
name = "moe"
arg = "moe-runner-backend"
values = ["flashinfer_cutlass", "flashinfer_trtllm", "flashinfer_cutedsl"]

[[vary]]
name = "kv"
arg = "kv-cache-dtype"
values = ["bf16", "auto"]

[[vary]]
name = "speculation"
options = [
  { label = "off" },
  { label = "mtp", args = { speculative-algorithm = "NEXTN" }, env = { SGLANG_ENABLE_SPEC_V2 = "1" } },
]
"""
QUANTIZATION = {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16,
                "kv_cache_scheme": {"num_bits": 8, "type": "float"}, "ignore": ["lm_head"]}  # fmt: skip
pytestmark = pytest.mark.timeout(600)
"""Headers of 370,000 tensors are 60 MB to write: seconds, or minutes where the disk is busy with others."""


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = {**QWEN35, "quantization_config": QUANTIZATION}
    tensors = qwen35_nvfp4(QWEN35_TEXT, kv_scales=False)
    return write_checkpoint(tmp_path_factory.mktemp("qwen35"), config, tensors, shards=11, index=False)


@pytest.fixture(scope="session")
def model(checkpoint: Path) -> ModelFacts:
    return inspect_model(checkpoint)


def plan_for(model: ModelFacts, machine: MachineFacts, version: str = "0.5.10", text: str = CAMPAIGN) -> Plan:
    engine = EngineFacts(kind=EngineKind.SGLANG, version=version, python="/opt/ml-env/bin/python3")
    return make_plan(campaign(text, head=HEAD), engine_for(EngineKind.SGLANG), model, machine, engine)


def rules_of(plan: Plan) -> set[str]:
    return {entry.rule for entry in plan.pruned}


def warned(plan: Plan) -> set[str]:
    return {warning.rule for warning in plan.warnings}


def test_the_checkpoint_is_read_without_its_weights(model: ModelFacts) -> None:
    assert model.weight_bytes is not None
    assert model.weight_bytes > 250e9
    assert {note.kind for note in model.notes} == {"fp4_only_in_experts", "kv_scales_missing", "mtp_unquantised"}
    assert model.draft is not None
    assert (model.draft.present, model.draft.format) == (1, "bf16")


def test_on_eight_pro_6000(model: ModelFacts) -> None:
    plan = plan_for(model, PRO_6000_X8)
    trtllm = [entry for entry in plan.pruned if entry.rule == "sglang-trtllm-moe-needs-sm100"]
    assert len(trtllm) == 4
    assert all("SM120" in entry.reason and entry.sources and entry.completed is None for entry in trtllm)
    completed = [entry for entry in plan.pruned if entry.rule == "sglang-hybrid-speculation-needs-extra-buffer"]
    assert len(completed) == 4
    by_id = {candidate.id: candidate for candidate in plan.candidates}
    for entry in completed:
        assert entry.completed is not None
        derived = by_id[entry.completed]
        assert derived.args["mamba-scheduler-strategy"] == "extra_buffer"
        assert derived.env["SGLANG_ENABLE_SPEC_V2"] == "1"
        assert derived.derived_from == entry.candidate.id
    assert warned(plan) >= {
        "sglang-speculation-caps-running-requests",
        "fp8-kv-cache-without-scales",
        "unquantised-draft-heads",
        "all-reduces-over-pcie",
        "sglang-cutedsl-outside-sm100",
    }
    (cap,) = (warning for warning in plan.warnings if warning.rule == "sglang-speculation-caps-running-requests")
    assert "48" in cap.reason
    assert set(cap.candidates) == {candidate.id for candidate in plan.candidates if "mtp" in candidate.label}
    plain = next(held for held in plan.capacity if plan.candidates[0].id in held.candidates)
    assert plain.kv_bytes_per_token == 15_360
    assert plain.state_bytes_per_request / 1e6 == pytest.approx(24.0, abs=0.05)
    assert plain.fits is True
    assert plan.candidates[0].label == "baseline"


def test_what_a_flag_for_dense_fp4_acts_on(model: ModelFacts) -> None:
    dense = '\n[[vary]]\nname = "fp4"\narg = "fp4-gemm-backend"\nvalues = ["flashinfer_cudnn", "flashinfer_cutlass"]\n'
    plan = plan_for(model, PRO_6000_X8, text=CAMPAIGN + dense)
    (inert, other) = (warning for warning in plan.warnings if warning.rule == "inert-sglang-fp4-gemm")
    assert set(inert.candidates) | set(other.candidates) == {candidate.id for candidate in plan.candidates}


def test_a_later_release_completes_it_itself_and_renames(model: ModelFacts) -> None:
    plan = plan_for(model, PRO_6000_X8, "0.5.23")
    assert "sglang-hybrid-speculation-needs-extra-buffer" not in rules_of(plan)
    assert "inert-sglang-spec-v2-variable" in warned(plan)


def test_an_unknown_version_warns_and_does_not_complete(model: ModelFacts) -> None:
    engine = EngineFacts(kind=EngineKind.SGLANG, version=None)
    plan = make_plan(campaign(CAMPAIGN, head=HEAD), engine_for(EngineKind.SGLANG), model, PRO_6000_X8, engine)
    (warning,) = (entry for entry in plan.warnings if entry.rule == "sglang-hybrid-speculation-needs-extra-buffer")
    assert warning.undecided == ("engine.version",)


def test_on_eight_h200(model: ModelFacts) -> None:
    plan = plan_for(model, H200_X8)
    assert rules_of(plan) >= {"sglang-trtllm-moe-needs-sm100"}
    assert "all-reduces-over-pcie" not in warned(plan)
    assert "nvfp4-weights-need-blackwell" in warned(plan)
    assert all(bound.all_reduces and bound.all_reduces.link == "nvlink" for bound in plan.ceiling)


def test_on_one_5090_it_does_not_fit(model: ModelFacts) -> None:
    plan = plan_for(model, RTX_5090, text=CAMPAIGN.replace("tp = 8", "tp = 1"))
    assert plan.candidates == ()
    (reason, *_) = (entry.reason for entry in plan.pruned if entry.rule == "does-not-fit")
    assert "weights" in reason
    assert "GiB" in reason
    assert "not-enough-gpus" in rules_of(plan_for(model, RTX_5090))


def test_on_a_machine_without_a_gpu(model: ModelFacts) -> None:
    plan = plan_for(model, NO_GPU)
    assert plan.candidates == ()
    assert "sglang-needs-a-gpu" in rules_of(plan)


def test_a_machine_that_cannot_be_seen_warns_and_never_prunes_for_its_chip(model: ModelFacts) -> None:
    plan = plan_for(model, UNSEEN)
    assert rules_of(plan) == {"sglang-hybrid-speculation-needs-extra-buffer"}
    (chip,) = (warning for warning in plan.warnings if warning.rule == "sglang-trtllm-moe-needs-sm100")
    assert "machine.sm_major" in chip.undecided
    assert plan.ceiling == ()


def test_behind_a_wrapper_the_machine_is_unknown_too(model: ModelFacts) -> None:
    wrapped = CAMPAIGN.replace('python = "/opt/ml-env/bin/python3"', 'command = ["docker", "run", "sglang"]')
    engine = EngineFacts(kind=EngineKind.SGLANG, version="0.5.10", command=("docker", "run", "sglang"))
    plan = make_plan(campaign(wrapped, head=HEAD), engine_for(EngineKind.SGLANG), model, PRO_6000_X8, engine)
    assert "sglang-trtllm-moe-needs-sm100" not in rules_of(plan)
    described = campaign(wrapped + '\n[machine]\nfile = "box.json"\n', head=HEAD)
    plan = make_plan(described, engine_for(EngineKind.SGLANG), model, PRO_6000_X8, engine)
    assert "sglang-trtllm-moe-needs-sm100" in rules_of(plan)


def test_the_page_names_rules_sources_and_figures(model: ModelFacts) -> None:
    page = plan_text(plan_for(model, PRO_6000_X8), model.notes)
    for words in (
        "8 candidates to run",
        "sglang-trtllm-moe-needs-sm100",
        "source: python/sglang/srt",
        "15,360 B a token",
        "24.0 MB of recurrent state",
        "no prediction",
        "nothing to act on",
    ):
        assert words in page


def test_the_document_holds_ids_and_rules(model: ModelFacts) -> None:
    document = plan_for(model, PRO_6000_X8).document()
    candidates, pruned = document["candidates"], document["pruned"]
    assert isinstance(candidates, list)
    assert isinstance(pruned, list)
    ids = {entry["id"] for entry in candidates}
    assert all(entry["rule"] and entry["sources"] for entry in pruned)
    assert {entry["completed"] for entry in pruned if entry["completed"]} <= ids


def test_planning_takes_little_processor_time(checkpoint: Path) -> None:
    before = time.process_time()
    plan_for(inspect_model(checkpoint), PRO_6000_X8)
    # Processor time and a wide margin: the machine may be busy. On an idle one it is about a second and a half.
    assert time.process_time() - before < 20
