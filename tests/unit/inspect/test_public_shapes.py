"""Public models, configuration alone: parameters and KV cache as their authors publish them."""

import json
from pathlib import Path

import pytest
from tests.fakes.shapes import SHAPES

from shakedown.domain.facts import ModelFacts
from shakedown.inspect.checkpoint import inspect_model


def inspect_shape(name: str, folder: Path) -> ModelFacts:
    (folder / "config.json").write_text(json.dumps(SHAPES[name].config))
    return inspect_model(folder)


@pytest.mark.parametrize("name", SHAPES)
def test_parameters_are_the_published_ones(name: str, tmp_path: Path) -> None:
    facts = inspect_shape(name, tmp_path)
    assert facts.parameters == pytest.approx(SHAPES[name].weights, rel=SHAPES[name].tolerance, abs=0.5)


@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if shape.active])
def test_active_parameters_are_near_the_published_ones(name: str, tmp_path: Path) -> None:
    # Makers count embeddings and attention differently: the published figure is a rounded one.
    facts = inspect_shape(name, tmp_path)
    assert facts.active_parameters is not None
    assert facts.active_parameters / 1e9 == pytest.approx(SHAPES[name].active, rel=0.19)


def test_layers_are_told_apart(tmp_path: Path) -> None:
    def kinds(name: str) -> tuple[int, int, int]:
        folder = tmp_path / name
        folder.mkdir()
        facts = inspect_shape(name, folder)
        return facts.attention_layers, facts.sliding_layers, facts.linear.layers if facts.linear else 0

    assert kinds("llama-3.1-8b") == (32, 0, 0)
    assert kinds("mistral-7b-v0.1") == (32, 32, 0)
    assert kinds("qwen2.5-7b") == (28, 0, 0)
    assert kinds("gpt-oss-20b") == (24, 12, 0)
    assert kinds("gemma-3-27b") == (62, 52, 0)
    assert kinds("qwen3-next-80b-a3b") == (12, 0, 36)
    assert kinds("nemotron-h-8b") == (4, 0, 24)
    assert kinds("qwen3.5-397b-a17b") == (15, 0, 45)


def test_experts(tmp_path: Path) -> None:
    experts = inspect_shape("deepseek-v3", tmp_path).experts
    assert experts is not None
    assert (experts.layers, experts.count, experts.per_token, experts.shared) == (58, 256, 8, 1)


def test_nested_text_configuration(tmp_path: Path) -> None:
    facts = inspect_shape("mistral-small-3.1-24b", tmp_path)
    assert facts.multimodal
    assert facts.model_type == "mistral3"
    assert facts.hidden_size == 5120


def test_without_tensors_nothing_is_said_of_scales_and_heads(tmp_path: Path) -> None:
    facts = inspect_shape("qwen3.5-397b-a17b", tmp_path)
    assert facts.kv_scales is None
    assert facts.draft is None
    assert facts.weight_bytes is not None
    assert facts.parameters is not None
    assert facts.weight_bytes == 2 * facts.parameters
