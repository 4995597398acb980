import json
import struct
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.checkpoints import (
    awq,
    deepseek_fp8,
    dense,
    fp8_channel,
    gptq,
    int4_packed,
    plain,
    qwen35_nvfp4,
    write_checkpoint,
)
from tests.fakes.shapes import DEEPSEEK_V3, QWEN35, QWEN35_TEXT, SHAPES

from shakedown.domain.errors import CheckpointError
from shakedown.domain.facts import ModelFacts
from shakedown.inspect.checkpoint import inspect_model

QWEN = SHAPES["qwen2.5-7b"].config
SMALL = {**QWEN, "num_hidden_layers": 2}
TEXT = {**QWEN35_TEXT, "num_hidden_layers": 4, "num_experts": 8, "layer_types": QWEN35_TEXT["layer_types"][:4]}
NVFP4 = {"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_scheme": {"num_bits": 8, "type": "float"},
         "group_size": 16, "ignore": ["lm_head"]}  # fmt: skip


def by_role(facts: ModelFacts) -> dict[str, set[str]]:
    roles: dict[str, set[str]] = {}
    for group in facts.tensors:
        roles.setdefault(group.role, set()).add(group.format)
    return roles


def kinds(facts: ModelFacts) -> set[str]:
    return {note.kind for note in facts.notes}


def made(folder: Path, **changes: Any) -> ModelFacts:
    config = {**QWEN35, "text_config": TEXT, "quantization_config": NVFP4}
    return inspect_model(write_checkpoint(folder, config, qwen35_nvfp4(TEXT, **changes), shards=3))


def test_nvfp4_mixture(tmp_path: Path) -> None:
    facts = made(tmp_path, kv_scales=False)
    assert by_role(facts)["routed_expert"] == {"nvfp4"}
    assert by_role(facts)["attention"] == by_role(facts)["shared_expert"] == {"bf16"}
    routed = next(group for group in facts.tensors if group.role == "routed_expert")
    weights = 4 * 8 * 3 * 4096 * 1024
    assert routed.parameters == weights
    # Half a byte a weight, a byte of scale for 16 weights, two 32-bit scales a matrix.
    assert routed.bytes == weights // 2 + weights // 16 + 4 * 8 * 3 * 8
    assert kinds(facts) >= {"fp4_only_in_experts", "kv_scales_missing", "mtp_unquantised"}
    assert "config_disagrees" not in kinds(facts)


def test_draft_heads_and_their_format(tmp_path: Path) -> None:
    present = made(tmp_path / "present", kv_scales=False).draft
    absent = made(tmp_path / "absent", kv_scales=False, mtp=False)
    assert present is not None
    assert (present.promised, present.present, present.format) == (1, 1, "bf16")
    assert absent.draft is not None
    assert (absent.draft.promised, absent.draft.present, absent.draft.format) == (1, 0, None)
    assert "mtp_promised_but_absent" in kinds(absent)


def test_kv_scales_are_counted_against_attention_layers(tmp_path: Path) -> None:
    facts = made(tmp_path, kv_scales=True)
    assert facts.kv_scales is not None
    assert (facts.kv_scales.expected, facts.kv_scales.key, facts.kv_scales.value) == (1, 1, 1)
    assert not kinds(facts) & {"kv_scales_missing", "kv_scales_partial"}


def test_modelopt_file_beside_the_configuration(tmp_path: Path) -> None:
    config = {**QWEN35, "text_config": TEXT}
    own = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8",
           "group_size": 16, "exclude_modules": ["lm_head", "mtp*"]}}  # fmt: skip
    tensors = qwen35_nvfp4(TEXT, kv_scales=False)
    facts = inspect_model(write_checkpoint(tmp_path, config, tensors, extra={"hf_quant_config.json": own}))
    assert facts.quantization is not None
    assert (facts.quantization.algorithm, facts.quantization.kv_cache) == ("NVFP4", "FP8")
    assert facts.quantization.excluded == ("lm_head", "mtp*")


def test_deepseek_fp8_blocks_and_a_draft_layer_past_the_last(tmp_path: Path) -> None:
    config = {**DEEPSEEK_V3, "num_hidden_layers": 4, "n_routed_experts": 4, "num_experts_per_tok": 2,
              "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128],
                                      "scale_fmt": "ue8m0"}}  # fmt: skip
    facts = inspect_model(write_checkpoint(tmp_path, config, deepseek_fp8(config), shards=2))
    assert by_role(facts)["routed_expert"] == by_role(facts)["attention"] == {"fp8_block"}
    assert facts.draft is not None
    assert (facts.draft.present, facts.draft.format) == (1, "fp8_block")
    assert facts.quantization is not None
    assert (facts.quantization.block, facts.quantization.scale_format) == ((128, 128), "ue8m0")
    assert "config_disagrees" not in kinds(facts)


@pytest.mark.parametrize(
    ("matrix", "section", "fmt", "algorithm"),
    [
        (awq, {"quant_method": "awq", "bits": 4, "group_size": 128}, "int4_awq", "INT4"),
        (gptq, {"quant_method": "gptq", "bits": 4, "group_size": 128}, "int4_gptq", "INT4"),
        (fp8_channel, {"quant_method": "compressed-tensors", "format": "float-quantized"}, "fp8", "FP8"),
        (
            int4_packed,
            {"quant_method": "compressed-tensors", "format": "pack-quantized",
             "config_groups": {"group_0": {"weights": {"num_bits": 4, "group_size": 32}}}},
            "int4_packed",
            "W4A16",
        ),
        (plain, None, "bf16", None),
    ],
)  # fmt: skip
def test_every_way_to_store_a_matrix_counts_the_same_weights(
    tmp_path: Path, matrix: Any, section: dict[str, Any] | None, fmt: str, algorithm: str | None
) -> None:
    config = SMALL if section is None else {**SMALL, "quantization_config": section}
    facts = inspect_model(write_checkpoint(tmp_path, config, dense(SMALL, matrix, bias=True)))
    assert by_role(facts)["dense_mlp"] == {fmt}
    mlp = sum(group.parameters for group in facts.tensors if group.role == "dense_mlp")
    assert mlp == 2 * 3 * 3584 * 18944
    assert (facts.quantization.algorithm if facts.quantization else None) == algorithm
    assert "config_disagrees" not in kinds(facts)


def test_mxfp4_blocks(tmp_path: Path) -> None:
    config = {**SHAPES["gpt-oss-20b"].config, "num_hidden_layers": 2, "layer_types": ["sliding_attention"] * 2,
              "quantization_config": {"quant_method": "mxfp4"}}  # fmt: skip
    tensors = [("model.layers.0.mlp.experts.gate_up_proj_blocks", "U8", (32, 5760, 90, 16)),
               ("model.layers.0.mlp.experts.gate_up_proj_scales", "U8", (32, 5760, 90)),
               ("model.layers.0.mlp.experts.gate_up_proj_bias", "BF16", (32, 5760))]  # fmt: skip
    facts = inspect_model(write_checkpoint(tmp_path, config, tensors))
    routed = {group.format: group for group in facts.tensors if group.role == "routed_expert"}
    assert routed["mxfp4"].parameters == 32 * 5760 * 2880
    assert routed["mxfp4"].bytes == 32 * 5760 * 90 * 17


def test_configuration_and_tensors_that_disagree_are_a_finding(tmp_path: Path) -> None:
    facts = inspect_model(write_checkpoint(tmp_path, QWEN, dense(SMALL, plain)))
    assert "config_disagrees" in kinds(facts)


def test_an_index_that_promises_more_than_the_files_hold(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, SMALL, dense(SMALL, plain), shards=2)
    index = tmp_path / "model.safetensors.index.json"
    content = json.loads(index.read_text())
    content["weight_map"]["mtp.fc.weight"] = "model-00001-of-00002.safetensors"
    index.write_text(json.dumps(content))
    (note,) = (note for note in inspect_model(tmp_path).notes if note.kind == "index_disagrees")
    assert "mtp.fc.weight" in note.summary


@pytest.mark.parametrize("index", [True, False])
def test_a_missing_shard_is_named(tmp_path: Path, index: bool) -> None:
    write_checkpoint(tmp_path, SMALL, dense(SMALL, plain), shards=3, index=index)
    (tmp_path / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(CheckpointError, match="1 missing: model-00002-of-00003"):
        inspect_model(tmp_path)


def test_a_file_cut_short_says_how_much_is_missing(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, SMALL, dense(SMALL, plain))
    with (tmp_path / "model.safetensors").open("r+b") as stream:
        stream.truncate((tmp_path / "model.safetensors").stat().st_size // 2)
    with pytest.raises(CheckpointError, match=r"cut short: its header lists .* missing"):
        inspect_model(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "first eight bytes"),
        (struct.pack("<Q", 1 << 40), "first eight bytes"),
        (struct.pack("<Q", 100) + b"{}", "cut short inside its header"),
        (struct.pack("<Q", 2) + b"[]", "header is damaged"),
        (struct.pack("<Q", 9) + b'{"a":"b"}', "header is damaged"),
        (struct.pack("<Q", 4) + b"oops", "header is damaged"),
    ],
)
def test_what_is_no_safetensors_file_is_said(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(SMALL))
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        inspect_model(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "not JSON"), ("[]", "not a JSON object"), ('{"hidden_size": 8}', "no num_hidden_layers")],
)
def test_a_bad_configuration_names_the_file(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(CheckpointError, match=rf"config\.json: {message}"):
        inspect_model(tmp_path)


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"neither config\.json nor a GGUF file"):
        inspect_model(tmp_path)


def test_markers_of_the_chat_template(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, SMALL, dense(SMALL, plain))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": "<tool_call> enable_thinking"}))
    assert inspect_model(tmp_path).chat_markers == ("enable_thinking", "<tool_call>")
    (tmp_path / "chat_template.jinja").write_text("<think>")
    assert inspect_model(tmp_path).chat_markers == ("<think>",)
