"""Makes checkpoints of any size out of headers alone: the data is a hole in a sparse file.

What is made here is what a real checkpoint lists: names, types and shapes of its tensors.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Tensor = tuple[str, str, tuple[int, ...]]
"""Name, safetensors type, shape."""

BYTES = {"BF16": 2, "F16": 2, "F32": 4, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E8M0": 1, "I32": 4, "I64": 8}


def write_safetensors(path: Path, tensors: Sequence[Tensor]) -> None:
    """Write one file: header and a hole. The header is put together as text: a large mixture has 400,000 entries."""
    described: dict[tuple[str, tuple[int, ...]], tuple[str, int]] = {}
    entries = ['"__metadata__":{"format":"pt"}']
    offset = 0
    for name, dtype, shape in tensors:
        known = described.get((dtype, shape))
        if known is None:
            known = (f'{{"dtype":"{dtype}","shape":{list(shape)},"data_offsets":[', math.prod(shape) * BYTES[dtype])
            described[dtype, shape] = known
        entries.append(f'"{name}":{known[0]}{offset},{offset + known[1]}]}}')
        offset += known[1]
    header = ("{" + ",".join(entries) + "}").encode()
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", len(header)) + header)
        stream.truncate(8 + len(header) + offset)


def write_checkpoint(
    folder: Path,
    config: Mapping[str, Any],
    tensors: Sequence[Tensor],
    *,
    shards: int = 1,
    index: bool = True,
    extra: Mapping[str, Any] | None = None,
) -> Path:
    """Write a checkpoint folder; ``extra`` names further JSON files (``hf_quant_config.json``)."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    for name, content in (extra or {}).items():
        (folder / name).write_text(json.dumps(content))
    if shards == 1:
        write_safetensors(folder / "model.safetensors", tensors)
        return folder
    weight_map = []
    for number in range(shards):
        own = tensors[number::shards]
        file = f"model-{number + 1:05d}-of-{shards:05d}.safetensors"
        write_safetensors(folder / file, own)
        weight_map += [f'"{name}":"{file}"' for name, _, _ in own]
    if index:
        text = '{"metadata":{},"weight_map":{' + ",".join(weight_map) + "}}"
        (folder / "model.safetensors.index.json").write_text(text)
    return folder


def plain(name: str, *shape: int, dtype: str = "BF16") -> Iterator[Tensor]:
    """One unquantised matrix."""
    yield name + ".weight", dtype, shape


def nvfp4(name: str, rows: int, columns: int) -> Iterator[Tensor]:
    """ModelOpt's NVFP4: two weights a byte, a scale for every 16, one for the whole, one for the input."""
    yield name + ".weight", "U8", (rows, columns // 2)
    yield name + ".weight_scale", "F8_E4M3", (rows, columns // 16)
    yield name + ".weight_scale_2", "F32", ()
    yield name + ".input_scale", "F32", ()


def fp8_block(name: str, rows: int, columns: int) -> Iterator[Tensor]:
    """DeepSeek's FP8 with a scale for every 128 by 128 block."""
    yield name + ".weight", "F8_E4M3", (rows, columns)
    yield name + ".weight_scale_inv", "F32", (-(-rows // 128), -(-columns // 128))


def awq(name: str, rows: int, columns: int, group: int = 128) -> Iterator[Tensor]:
    """AWQ: input by output, eight weights a word."""
    yield name + ".qweight", "I32", (columns, rows // 8)
    yield name + ".qzeros", "I32", (columns // group, rows // 8)
    yield name + ".scales", "F16", (columns // group, rows)


def gptq(name: str, rows: int, columns: int, group: int = 128) -> Iterator[Tensor]:
    """GPTQ: packed along the input."""
    yield name + ".qweight", "I32", (columns // 8, rows)
    yield name + ".qzeros", "I32", (columns // group, rows // 8)
    yield name + ".scales", "F16", (columns // group, rows)
    yield name + ".g_idx", "I32", (columns,)


def fp8_channel(name: str, rows: int, columns: int) -> Iterator[Tensor]:
    """compressed-tensors FP8: a scale for each output channel."""
    yield name + ".weight", "F8_E4M3", (rows, columns)
    yield name + ".weight_scale", "BF16", (rows, 1)


def int4_packed(name: str, rows: int, columns: int, group: int = 32) -> Iterator[Tensor]:
    """compressed-tensors pack-quantized: eight weights a word along the input."""
    yield name + ".weight_packed", "I32", (rows, columns // 8)
    yield name + ".weight_scale", "BF16", (rows, columns // group)
    yield name + ".weight_shape", "I64", (2,)


def qwen35_nvfp4(text: Mapping[str, Any], *, kv_scales: bool, mtp: bool = True) -> list[Tensor]:
    """Qwen 3.5's mixture with NVFP4 routed experts, the rest in BF16, as its quantised checkpoints are."""
    tensors: list[Tensor] = []
    prefix = "model.language_model."
    hidden = text["hidden_size"]
    tensors += plain(prefix + "embed_tokens", text["vocab_size"], hidden)
    tensors += plain("lm_head", text["vocab_size"], hidden)
    tensors += plain(prefix + "norm", hidden)
    for number, kind in enumerate(text["layer_types"]):
        layer = f"{prefix}layers.{number}."
        tensors += _delta_net(layer, text) if kind == "linear_attention" else _attention(layer, text)
        if kind == "full_attention" and kv_scales:
            tensors += [(f"{layer}self_attn.{name}_proj.{name}_scale", "F32", ()) for name in "kv"]
        tensors += _norms(layer, hidden)
        tensors += _mixture(layer, text, routed=nvfp4)
    if mtp:
        tensors += plain("mtp.fc", hidden, 2 * hidden)
        for norm in ("norm", "pre_fc_norm_embedding", "pre_fc_norm_hidden"):
            tensors += plain(f"mtp.{norm}", hidden)
        tensors += _attention("mtp.layers.0.", text)
        tensors += _norms("mtp.layers.0.", hidden)
        tensors += _mixture("mtp.layers.0.", text, routed=plain)
    tensors += plain("model.visual.patch_embed.proj", 1152, 1536)
    return tensors


def _norms(layer: str, hidden: int) -> Iterator[Tensor]:
    yield from plain(layer + "input_layernorm", hidden)
    yield from plain(layer + "post_attention_layernorm", hidden)


def _attention(layer: str, text: Mapping[str, Any]) -> Iterator[Tensor]:
    hidden, width = text["hidden_size"], text["head_dim"]
    heads, kv_heads = text["num_attention_heads"], text["num_key_value_heads"]
    yield from plain(layer + "self_attn.q_proj", 2 * heads * width, hidden)
    yield from plain(layer + "self_attn.k_proj", kv_heads * width, hidden)
    yield from plain(layer + "self_attn.v_proj", kv_heads * width, hidden)
    yield from plain(layer + "self_attn.o_proj", hidden, heads * width)
    yield from plain(layer + "self_attn.q_norm", width)
    yield from plain(layer + "self_attn.k_norm", width)


def _delta_net(layer: str, text: Mapping[str, Any]) -> Iterator[Tensor]:
    hidden = text["hidden_size"]
    heads = text["linear_num_value_heads"]
    values = heads * text["linear_value_head_dim"]
    mixed = 2 * text["linear_num_key_heads"] * text["linear_key_head_dim"] + values
    yield from plain(layer + "linear_attn.in_proj_qkv", mixed, hidden)
    yield from plain(layer + "linear_attn.in_proj_z", values, hidden)
    yield from plain(layer + "linear_attn.in_proj_a", heads, hidden)
    yield from plain(layer + "linear_attn.in_proj_b", heads, hidden)
    yield from plain(layer + "linear_attn.conv1d", mixed, 1, text["linear_conv_kernel_dim"])
    yield layer + "linear_attn.A_log", "F32", (heads,)
    yield layer + "linear_attn.dt_bias", "F32", (heads,)
    yield from plain(layer + "linear_attn.norm", text["linear_value_head_dim"])
    yield from plain(layer + "linear_attn.out_proj", hidden, values)


def _mixture(layer: str, text: Mapping[str, Any], *, routed: Any) -> Iterator[Tensor]:
    hidden, width = text["hidden_size"], text["moe_intermediate_size"]
    yield from plain(layer + "mlp.gate", text["num_experts"], hidden)
    yield from plain(layer + "mlp.shared_expert_gate", 1, hidden)
    for name, rows, columns in (("gate_proj", width, hidden), ("up_proj", width, hidden), ("down_proj", hidden, width)):
        yield from plain(f"{layer}mlp.shared_expert.{name}", rows, columns)
        for expert in range(text["num_experts"]):
            yield from routed(f"{layer}mlp.experts.{expert}.{name}", rows, columns)


def dense(config: Mapping[str, Any], matrix: Any, *, bias: bool = False) -> list[Tensor]:
    """A Llama-like dense model; ``matrix`` makes the quantised matrices."""
    hidden, width = config["hidden_size"], config["intermediate_size"]
    head = config.get("head_dim") or hidden // config["num_attention_heads"]
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    tensors: list[Tensor] = []
    tensors += plain("model.embed_tokens", config["vocab_size"], hidden)
    tensors += plain("lm_head", config["vocab_size"], hidden)
    tensors += plain("model.norm", hidden)
    for number in range(config["num_hidden_layers"]):
        layer = f"model.layers.{number}."
        tensors += _norms(layer, hidden)
        for name, rows, columns in (
            ("self_attn.q_proj", queries, hidden), ("self_attn.k_proj", keys, hidden),
            ("self_attn.v_proj", keys, hidden), ("self_attn.o_proj", hidden, queries), ("mlp.gate_proj", width, hidden),
            ("mlp.up_proj", width, hidden), ("mlp.down_proj", hidden, width),
        ):  # fmt: skip
            tensors += matrix(layer + name, rows, columns)
            if bias and name[-6:] in ("q_proj", "k_proj", "v_proj"):
                tensors += [(layer + name + ".bias", "BF16", (rows,))]
    return tensors


def deepseek_fp8(config: Mapping[str, Any], *, experts: int | None = None) -> list[Tensor]:
    """DeepSeek V3: latent attention, FP8 blocks, the draft layer stored as one layer more."""
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    rank, rope, query = config["kv_lora_rank"], config["qk_rope_head_dim"], config["q_lora_rank"]
    nope, value = config["qk_nope_head_dim"], config["v_head_dim"]
    count = experts or config["n_routed_experts"]
    layers = config["num_hidden_layers"]
    tensors: list[Tensor] = []
    tensors += plain("model.embed_tokens", config["vocab_size"], hidden)
    tensors += plain("lm_head", config["vocab_size"], hidden)
    tensors += plain("model.norm", hidden)
    for number in range(layers + config["num_nextn_predict_layers"]):
        layer = f"model.layers.{number}."
        tensors += _norms(layer, hidden)
        tensors += fp8_block(layer + "self_attn.q_a_proj", query, hidden)
        tensors += plain(layer + "self_attn.q_a_layernorm", query)
        tensors += fp8_block(layer + "self_attn.q_b_proj", heads * (nope + rope), query)
        tensors += fp8_block(layer + "self_attn.kv_a_proj_with_mqa", rank + rope, hidden)
        tensors += plain(layer + "self_attn.kv_a_layernorm", rank)
        tensors += fp8_block(layer + "self_attn.kv_b_proj", heads * (nope + value), rank)
        tensors += fp8_block(layer + "self_attn.o_proj", hidden, heads * value)
        own = config["moe_intermediate_size"]
        shapes = (("gate_proj", own, hidden), ("up_proj", own, hidden), ("down_proj", hidden, own))
        if number < config["first_k_dense_replace"]:
            wide = config["intermediate_size"]
            tensors += fp8_block(layer + "mlp.gate_proj", wide, hidden)
            tensors += fp8_block(layer + "mlp.up_proj", wide, hidden)
            tensors += fp8_block(layer + "mlp.down_proj", hidden, wide)
        else:
            tensors += plain(layer + "mlp.gate", count, hidden)
            tensors.append((layer + "mlp.gate.e_score_correction_bias", "F32", (count,)))
            for name, rows, columns in shapes:
                tensors += fp8_block(f"{layer}mlp.shared_experts.{name}", rows, columns)
                for expert in range(count):
                    tensors += fp8_block(f"{layer}mlp.experts.{expert}.{name}", rows, columns)
        if number >= layers:
            tensors += plain(layer + "eh_proj", hidden, 2 * hidden)
            for norm in ("enorm", "hnorm", "shared_head.norm"):
                tensors += plain(layer + norm, hidden)
    return tensors
