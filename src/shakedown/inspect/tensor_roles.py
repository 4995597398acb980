"""What a tensor does and how it is stored, from its name, type and neighbours."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from shakedown.domain.facts import Role

_ROLES: Sequence[tuple[str, Role]] = (
    (r"(^|\.)(visual|vision_tower|vision_model|vision|vit|audio_tower|multi_modal_projector|mm_projector)\.", "vision"),
    (r"(^|\.)mtp\.", "mtp"),
    (r"norm(\.|$)|layernorm", "norm"),
    (r"embed_tokens|(^|\.)wte(\.|$)|word_embeddings|tok_embeddings", "embedding"),
    (r"(^|\.)(lm_head|output|embed_out)$", "lm_head"),
    (r"shared_experts?|shared_mlp", "shared_expert"),
    (r"\.experts(\.|$)", "routed_expert"),
    (r"\.(gate|router|wg)(\.|$)|e_score_correction", "router"),
    (r"linear_attn|mamba|\.mixer\.(in_proj|out_proj|conv1d|A_log|D|dt_bias|norm)|\.ssm", "linear_attention"),
    (r"attn|attention|\.mixer\.(q|k|v|o)_proj", "attention"),
    (r"mlp|ffn|feed_forward|\.mixer\.(up|down)_proj|block_sparse_moe", "dense_mlp"),
)
_PARTS = frozenset(
    ("weight", "bias", "weight_scale", "weight_scale_", "weight_scale_inv", "input_scale", "weight_packed",
     "weight_global_scale", "input_global_scale", "weight_shape", "weight_zero_point", "weight_g_idx", "qweight",
     "qzeros", "scales", "g_idx", "k_scale", "v_scale", "kv_scale", "output_scale", "k_zero_point", "v_zero_point")
)  # fmt: skip
"""Last word of a name where several tensors make up one matrix; ``weight_scale_2`` without its number."""
_SUFFIXES = ("_blocks", "_scales", "_weight_scale_", "_weight_scale", "_scale_inv", "_input_scale", "_scale_", "_scale")
"""Endings of fused experts' parts, which carry no ``.weight``."""
MAIN_PARTS = ("weight", "weight_packed", "qweight", "blocks")
"""Parts that hold weights; the others scale, shift or describe them."""
_PLAIN = {"BF16": "bf16", "F16": "f16", "F32": "f32", "F64": "f64", "I8": "int8", "F4": "mxfp4"}


@dataclass(frozen=True, slots=True)
class Row:
    """Tensors of one part, type and shape, of all matrices that share a pattern."""

    part: str
    dtype: str
    shape: tuple[int, ...]
    count: int
    size_bytes: int


def role_of(pattern: str) -> Role:
    """What the matrices of a pattern (a name without its numbers) do."""
    return next((role for expression, role in _ROLES if re.search(expression, pattern)), "other")


def split_name(pattern: str) -> tuple[str, str]:
    """Split a tensor's name into its matrix and the part it plays there."""
    module, _, leaf = pattern.rpartition(".")
    if leaf in _PARTS:
        return module, leaf
    for suffix in _SUFFIXES:
        if leaf.endswith(suffix):
            return f"{module}.{leaf.removesuffix(suffix)}", suffix[1:]
    return pattern, "weight"


def stored_as(main: Row, parts: Sequence[Row], *, packed_bits: int, method: str) -> tuple[str, int]:
    """Return the format of a pattern's matrices and the number of weights of one.

    Args:
        main: the tensor that holds the weights.
        parts: all tensors of the pattern.
        packed_bits: bits of a weight packed into 32-bit words.
        method: quantisation method of the configuration, which tells AWQ from GPTQ.
    """
    count = math.prod(main.shape)
    names = {row.part for row in parts}
    if main.part == "blocks":
        return "mxfp4", count * 2
    if main.dtype == "I32":
        family = "awq" if "awq" in method else "gptq" if "gptq" in method else "packed"
        return f"int{packed_bits}_{family}", count * 32 // packed_bits
    if main.dtype == "U8" and names & {"weight_scale", "weight_scale_"}:
        return ("nvfp4" if names & {"weight_scale_", "weight_global_scale"} else "mxfp4"), count * 2
    if main.dtype.startswith("F8_"):
        return ("fp8_block" if _by_block(main, parts) else "fp8"), count
    return _PLAIN.get(main.dtype, main.dtype.lower()), count


def _by_block(main: Row, parts: Sequence[Row]) -> bool:
    """One scale for a block of weights, as against one for a tensor or an output channel."""
    scales = [row.shape for row in parts if row.part in ("weight_scale_inv", "scale_inv", "weight_scale")]
    return any(len(shape) == len(main.shape) > 1 and shape[-1] > 1 for shape in scales)
