import json
from pathlib import Path

import pytest
from tests.fakes.machines import H200, H200_X8, NO_GPU, PRO_6000_X8, RTX_5090, UNSEEN
from tests.fakes.shapes import SHAPES

from shakedown.domain.facts import LaunchShape, ModelFacts
from shakedown.inspect.checkpoint import inspect_model
from shakedown.plan.ceiling import Ceiling, ceiling_of
from shakedown.plan.hardware import all_reduce_paths, chip_of, chips, link_class

CONTEXT = 512 + 64

MEASURED = {"sglang": {1: 228.1, 16: 1375.9, 48: 2231.8}, "vllm": {1: 194.4, 16: 1084.8, 48: 2130.9}}
"""Output tokens/s of Qwen3.5-35B-A3B (made weights) on one H200: SGLang 0.5.17, vLLM 0.26.0; 512 in, 128 out."""


def model(name: str, folder: Path) -> ModelFacts:
    (folder / "config.json").write_text(json.dumps(SHAPES[name].config))
    return inspect_model(folder)


def bound(ceiling: Ceiling | None) -> dict[int, float]:
    assert ceiling is not None
    return {point.concurrency: point.output_tokens_per_s for point in ceiling.points}


@pytest.mark.parametrize("engine", MEASURED)
def test_never_below_what_was_measured_and_near_it_at_one(engine: str, tmp_path: Path) -> None:
    measured = MEASURED[engine]
    ceiling = bound(ceiling_of(model("qwen3.5-35b-a3b", tmp_path), LaunchShape(), H200, list(measured), CONTEXT))
    assert all(ceiling[level] >= value for level, value in measured.items())
    assert ceiling[1] <= 3 * measured[1]


def test_speculation_needs_a_break_even_and_can_give_its_width(tmp_path: Path) -> None:
    facts = model("qwen3.5-35b-a3b", tmp_path)
    ceiling = ceiling_of(facts, LaunchShape(draft_tokens=3, draft_heads=True), H200, [1, 16], CONTEXT)
    assert ceiling is not None
    for point in ceiling.points:
        drafting = point.speculation
        assert drafting is not None
        assert 1 < drafting.break_even_accept_length < 4
        gain = drafting.output_tokens_per_s / point.output_tokens_per_s
        assert gain == pytest.approx(4 / drafting.break_even_accept_length)
    # Measured with acceptance forced to 3 of 4: 363.3 and 1,955.9 tokens/s.
    first, second = (point.speculation for point in ceiling.points)
    assert first is not None
    assert second is not None
    assert first.output_tokens_per_s * 3 / 4 > 363.3
    assert second.output_tokens_per_s * 3 / 4 > 1955.9


def test_all_reduces_are_counted_and_priced(tmp_path: Path) -> None:
    facts = model("qwen3.5-397b-a17b", tmp_path)
    shape = LaunchShape(tensor_parallel=8)
    over_pcie = ceiling_of(facts, shape, PRO_6000_X8, [1], CONTEXT)
    over_nvlink = ceiling_of(facts, shape, H200_X8, [1], CONTEXT)
    assert over_pcie is not None
    assert over_nvlink is not None
    assert over_pcie.all_reduces is not None
    assert over_nvlink.all_reduces is not None
    assert (over_pcie.all_reduces.count, over_pcie.all_reduces.bytes_each) == (120, 8192)
    assert over_pcie.all_reduces.link == "pcie"
    assert over_nvlink.all_reduces.link == "nvlink"
    costs = dict(over_pcie.all_reduces.costs)
    assert costs["NCCL behind PCIe switches, 8 GPUs"] == pytest.approx(120 * 24e-6)
    assert ceiling_of(facts, LaunchShape(), PRO_6000_X8, [1], CONTEXT).all_reduces is None  # type: ignore[union-attr]


def test_experts_touched_follow_the_batch(tmp_path: Path) -> None:
    facts = model("qwen3.5-397b-a17b", tmp_path)
    ceiling = ceiling_of(facts, LaunchShape(tensor_parallel=8), H200_X8, [1, 8, 32, 128], CONTEXT)
    assert ceiling is not None
    touched = [point.experts_touched for point in ceiling.points]
    assert touched == pytest.approx([10, 74.7, 239.6, 471.0], abs=0.2)


def test_more_requests_never_lower_the_bound(tmp_path: Path) -> None:
    for name in ("llama-3.1-8b", "deepseek-v3", "qwen3-next-80b-a3b"):
        (tmp_path / name).mkdir()
        facts = model(name, tmp_path / name)
        levels = [1, 2, 4, 8, 16, 64, 256, 1024]
        values = list(bound(ceiling_of(facts, LaunchShape(tensor_parallel=8), H200_X8, levels, CONTEXT)).values())
        assert values == sorted(values)


def test_replicas_add_up(tmp_path: Path) -> None:
    facts = model("llama-3.1-8b", tmp_path)
    one = bound(ceiling_of(facts, LaunchShape(), H200_X8, [4], CONTEXT))[4]
    two = bound(ceiling_of(facts, LaunchShape(data_parallel=2), H200_X8, [8], CONTEXT))[8]
    assert two == pytest.approx(2 * one)


def test_nothing_is_said_where_chips_or_weights_are_unknown(tmp_path: Path) -> None:
    facts = model("llama-3.1-8b", tmp_path)
    for machine in (None, UNSEEN, NO_GPU):
        assert ceiling_of(facts, LaunchShape(), machine, [1], CONTEXT) is None
    assert ceiling_of(facts.model_copy(update={"tensors": ()}), LaunchShape(), H200, [1], CONTEXT) is None
    assert ceiling_of(facts, LaunchShape(on_gpu=False), H200, [1], CONTEXT) is None


def test_chips_are_told_apart_by_name() -> None:
    def bandwidth(name: str) -> float | None:
        gpu = H200.gpus[0].model_copy(update={"name": name}) if H200.gpus else None
        assert gpu is not None
        chip = chip_of(gpu)
        return chip.memory_bandwidth if chip else None

    assert bandwidth("NVIDIA H100 PCIe") == 2.04e12
    assert bandwidth("NVIDIA H100 80GB HBM3") == 3.35e12
    assert bandwidth("NVIDIA H200") == 4.8e12
    assert bandwidth("NVIDIA A100-SXM4-40GB") == 1.555e12
    assert bandwidth("NVIDIA L4") == 0.3e12
    assert bandwidth("NVIDIA L40S") == 0.864e12
    assert bandwidth("Some other chip") is None


def test_every_entry_of_the_tables_has_a_source() -> None:
    assert all(chip.source and chip.flops["bf16"] for chip in chips())
    assert all(path.source for path in all_reduce_paths())
    for link in ("pcie", "nvlink"):
        fastest = [path for path in all_reduce_paths() if path.link == link and path.fastest]
        assert len(fastest) == 1
        assert fastest[0].seconds == min(path.seconds for path in all_reduce_paths() if path.link == link)


def test_links() -> None:
    assert link_class(PRO_6000_X8) == "pcie"
    assert link_class(H200_X8) == "nvlink"
    assert link_class(RTX_5090) == "nvlink"
