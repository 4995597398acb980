import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.machines import H200, H200_X8, NO_GPU, RTX_5090, UNSEEN
from tests.fakes.shapes import SHAPES

from shakedown.domain.facts import LaunchShape, LinearAttention, ModelFacts, MultiheadLatentAttention, Quantization
from shakedown.inspect.checkpoint import inspect_model
from shakedown.plan.capacity import capacity_of, kv_bits, kv_bytes_per_token, state_bytes_per_request


def facts(name: str, folder: Path) -> ModelFacts:
    (folder / "config.json").write_text(json.dumps(SHAPES[name].config))
    return inspect_model(folder)


@pytest.mark.parametrize("name", SHAPES)
def test_kv_bytes_of_the_whole_model(name: str, tmp_path: Path) -> None:
    model = facts(name, tmp_path)
    every_layer = kv_bytes_per_token(model, LaunchShape(kv_dtype="bf16"), layers=model.attention_layers)
    assert every_layer == SHAPES[name].kv_bytes


def test_qwen35_on_eight_gpus(tmp_path: Path) -> None:
    model = facts("qwen3.5-397b-a17b", tmp_path)
    shape = LaunchShape(tensor_parallel=8, kv_dtype="bf16")
    per_token = kv_bytes_per_token(model, shape)
    assert per_token == 15_360
    assert per_token * 1.57e6 / 1e9 == pytest.approx(24.1, abs=0.05)
    assert state_bytes_per_request(model, shape) / 1e6 == pytest.approx(24.0, abs=0.05)
    assert state_bytes_per_request(model, shape.model_copy(update={"state_dtype": "bfloat16"})) / 1e6 == pytest.approx(
        12.2, abs=0.05
    )
    assert kv_bytes_per_token(model, shape.model_copy(update={"kv_dtype": "fp8_e4m3"})) == 7_680


def test_latent_attention_is_not_divided(tmp_path: Path) -> None:
    model = facts("deepseek-v3", tmp_path)
    for parallel in (1, 8):
        assert kv_bytes_per_token(model, LaunchShape(tensor_parallel=parallel, kv_dtype="bf16")) == 70_272


def test_data_parallel_attention_divides_heads_less(tmp_path: Path) -> None:
    model = facts("llama-3.1-8b", tmp_path)
    shape = LaunchShape(tensor_parallel=8, data_parallel=4, data_parallel_attention=True, kv_dtype="bf16")
    assert kv_bytes_per_token(model, shape) == 131_072 // 2
    assert shape.gpus == 8


def test_keys_and_values_of_different_types(tmp_path: Path) -> None:
    model = facts("llama-3.1-8b", tmp_path)
    mixed = LaunchShape(kv_dtype="q8_0", value_dtype="f16")
    assert kv_bytes_per_token(model, mixed) == round(131_072 / 2 * (8.5 / 16 + 1))


def test_auto_follows_the_checkpoint() -> None:
    model = _model(quantization=Quantization(method="modelopt", kv_cache="FP8"))
    assert kv_bits("auto", model) == 8
    assert kv_bits("auto", _model(dtype="bfloat16")) == 16
    assert kv_bits("auto", _model(dtype="float32")) == 32


def test_sliding_layers_keep_their_window(tmp_path: Path) -> None:
    model = facts("gpt-oss-20b", tmp_path)
    held = capacity_of(model, LaunchShape(kv_dtype="bf16"), H200)
    assert held.kv_bytes_per_token == 49_152 // 2
    assert held.window_bytes_per_request == 49_152 // 2 * 128


def test_what_does_not_fit_shows_its_arithmetic(tmp_path: Path) -> None:
    model = facts("llama-3.3-70b", tmp_path)
    held = capacity_of(model, LaunchShape(kv_dtype="bf16"), RTX_5090)
    assert held.fits is False
    assert held.kv_tokens is None
    assert "131.4 GiB weights" in held.arithmetic[0]


def test_a_machine_that_cannot_be_seen_has_no_capacity(tmp_path: Path) -> None:
    model = facts("llama-3.1-8b", tmp_path)
    for machine in (None, UNSEEN, NO_GPU):
        held = capacity_of(model, LaunchShape(kv_dtype="bf16"), machine)
        assert (held.fits, held.kv_tokens, held.memory_bytes) == (None, None, None)
        assert held.kv_bytes_per_token == 131_072


def test_states_and_cache_share_what_is_left(tmp_path: Path) -> None:
    model = facts("qwen3.5-397b-a17b", tmp_path)
    shape = LaunchShape(tensor_parallel=8, kv_dtype="bf16", state_to_kv_ratio=0.9, state_slots_per_request=3)
    held = capacity_of(model, shape, H200_X8, request_tokens=2000)
    assert held.kv_tokens is not None
    assert held.state_slots is not None
    states, cache = held.state_slots * held.state_bytes_per_request, held.kv_tokens * held.kv_bytes_per_token
    assert states / cache == pytest.approx(0.9, rel=0.01)
    assert held.requests_at_once == min(held.kv_tokens // 2000, held.state_slots // 3)


def test_on_the_cpu_the_machine_memory_counts(tmp_path: Path) -> None:
    model = facts("llama-3.2-1b", tmp_path)
    small = LaunchShape(kv_dtype="f16", kv_tokens=4096, on_gpu=False)
    held = capacity_of(model, small, NO_GPU)
    assert held.fits is True
    assert held.kv_tokens == 4096
    huge = small.model_copy(update={"kv_tokens": 4_000_000})
    assert capacity_of(model, huge, NO_GPU).fits is False


@given(st.sampled_from([1, 2, 4, 8, 16]), st.integers(1, 64), st.sampled_from(["bf16", "fp8", "nvfp4"]))
def test_more_gpus_never_keep_more_of_a_token(parallel: int, kv_heads: int, dtype: str) -> None:
    model = _model(kv_heads=kv_heads)
    one = kv_bytes_per_token(model, LaunchShape(kv_dtype=dtype))
    many = kv_bytes_per_token(model, LaunchShape(tensor_parallel=parallel, kv_dtype=dtype))
    assert 0 < many <= one <= many * max(parallel, 1) * 2


@given(st.integers(1, 8), st.integers(1, 100))
def test_states_are_divided_evenly(parallel: int, layers: int) -> None:
    linear = LinearAttention(
        layers=layers, key_heads=16, value_heads=32, key_head_dim=128, value_head_dim=128, conv_kernel=4
    )
    model = _model(linear=linear)
    one = state_bytes_per_request(model, LaunchShape())
    assert state_bytes_per_request(model, LaunchShape(tensor_parallel=parallel)) == pytest.approx(one / parallel, abs=1)


def _model(**changes: object) -> ModelFacts:
    plain: dict[str, object] = {
        "path": "m", "format": "safetensors", "architecture": "A", "model_type": "a", "parameters": None,
        "active_parameters": None, "weight_bytes": None, "layers": 32, "hidden_size": 4096, "attention_layers": 32,
        "heads": 32, "kv_heads": 8, "head_dim": 128, "vocab_size": 1000, "context_tokens": 4096,
    }  # fmt: skip
    return ModelFacts.model_validate(plain | changes)


def test_models_without_a_cache_are_not_divided_by_zero() -> None:
    model = _model(attention_layers=0, mla=MultiheadLatentAttention(kv_lora_rank=512, rope_head_dim=64), weight_bytes=1)
    held = capacity_of(model, LaunchShape(), H200)
    assert held.kv_tokens is None
    assert held.fits is True


def test_tokens_that_an_engine_allocated_on_a_gpu_are_foretold_within_five_per_cent() -> None:
    """SGLang 0.5.17 and vLLM 0.26.0 on one H200, a share of 0.4 each (docs/results)."""
    smollm2 = _model(layers=30, attention_layers=30, kv_heads=3, head_dim=64, weight_bytes=269_030_016)
    held = capacity_of(smollm2, LaunchShape(memory_fraction=0.4), H200)
    assert held.kv_tokens == pytest.approx(2_534_206, rel=0.05)
    assert held.kv_tokens == pytest.approx(2_575_024, rel=0.05)


def test_states_that_an_engine_allocated_on_a_gpu_are_foretold_within_five_per_cent(tmp_path: Path) -> None:
    """SGLang 0.5.17 with the shapes of Qwen3.5-35B-A3B on one H200 (docs/results)."""
    model = facts("qwen3.5-35b-a3b", tmp_path).model_copy(update={"weight_bytes": 69_321_221_376})
    shape = LaunchShape(memory_fraction=0.83784, state_to_kv_ratio=0.9, state_slots_per_request=5)
    held = capacity_of(model, shape, H200)
    assert held.kv_tokens == pytest.approx(1_373_530, rel=0.05)
    assert held.state_slots == pytest.approx(391, rel=0.05)
    assert held.requests_at_once == pytest.approx(78, rel=0.05)
