"""Facts about a GGUF model from its metadata keys and tensor names.

Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
Tensor names: ``gguf-py/gguf/constants.py`` of llama.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from shakedown.domain.errors import CheckpointError
from shakedown.domain.facts import (
    DraftHeads,
    Experts,
    LinearAttention,
    ModelFacts,
    MultiheadLatentAttention,
    Quantization,
    Role,
)
from shakedown.inspect.chat_template import markers_in
from shakedown.inspect.gguf_file import ArrayLength, GgufTensor, Metadata, read_gguf_header
from shakedown.inspect.tensor_groups import TensorTally, active_parameters

_SPLIT_NAME = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf")
_ROLES: Sequence[tuple[str, Role]] = (
    (r"^(v|mm|a)\.", "vision"),
    (r"\.nextn\.", "mtp"),
    (r"_norm(\.|$)|^output_norm", "norm"),
    (r"^token_embd|^per_layer_token_embd", "embedding"),
    (r"^output\.", "lm_head"),
    (r"ffn_\w+_exps", "routed_expert"),
    (r"ffn_\w+_shexp", "shared_expert"),
    (r"ffn_gate_inp|exp_probs", "router"),
    (r"\.ssm_", "linear_attention"),
    (r"\.attn_", "attention"),
    (r"\.ffn_", "dense_mlp"),
)


def inspect_gguf(path: Path) -> ModelFacts:
    """Read one GGUF file, or all parts of a split one.

    Raises:
        CheckpointError: if a part is missing, damaged or cut short, or is no language model.
    """
    headers = [read_gguf_header(part) for part in _parts(path)]
    return _facts(path, headers[0].metadata, [tensor for header in headers for tensor in header.tensors])


def _parts(path: Path) -> list[Path]:
    match = _SPLIT_NAME.fullmatch(path.name)
    if match is None:
        return [path]
    count = int(match[3])
    parts = [path.with_name(f"{match[1]}-{number:05d}-of-{count:05d}.gguf") for number in range(1, count + 1)]
    missing = [part.name for part in parts if not part.exists()]
    if missing:
        raise CheckpointError(f"{path}: {len(missing)} of {count} parts are missing: {', '.join(missing[:3])}")
    return parts


def _facts(path: Path, metadata: Metadata, tensors: Sequence[GgufTensor]) -> ModelFacts:
    keys = _Keys(path, metadata)
    names = {tensor.name for tensor in tensors}
    layers = keys.need("block_count")
    tally = TensorTally()
    for tensor in tensors:
        tally.add(_role(tensor.name), tensor.type_name, tensor.parameters, tensor.size_bytes or 0)
    groups = tally.groups()
    draft_layers = keys.number("nextn_predict_layers") or 0
    heads = keys.widest("attention.head_count") or 1
    hidden = keys.need("embedding_length")
    experts = _experts(keys, names)
    weights = [group for group in groups if group.role not in ("norm", "router", "embedding")]
    widest = max(weights, key=lambda group: group.parameters, default=None)
    template = metadata.get("tokenizer.chat_template")
    return ModelFacts(
        path=str(path),
        format="gguf",
        architecture=keys.architecture,
        model_type=keys.architecture,
        parameters=sum(group.parameters for group in groups) or None,
        active_parameters=active_parameters(groups, experts, tied="output.weight" not in names),
        weight_bytes=sum(group.bytes for group in groups) or None,
        layers=layers - draft_layers,
        hidden_size=hidden,
        attention_layers=len(_blocks(names, r"attn_k\.|attn_kv_a_mqa\."))
        or len(_blocks(names, r"attn_qkv\."))
        or layers,
        sliding_window=keys.number("attention.sliding_window"),
        heads=heads,
        kv_heads=keys.widest("attention.head_count_kv") or heads,
        head_dim=keys.number("attention.key_length") or hidden // heads,
        value_head_dim=keys.number("attention.value_length"),
        vocab_size=keys.number("vocab_size") or _length(metadata.get("tokenizer.ggml.tokens")),
        context_tokens=keys.number("context_length"),
        intermediate_size=keys.widest("feed_forward_length"),
        mla=_mla(keys),
        linear=_linear(keys, names),
        experts=experts,
        quantization=Quantization(method="gguf", algorithm=widest.format.upper()) if widest else None,
        tensors=groups,
        draft=DraftHeads(
            promised=draft_layers,
            present=len(_blocks(names, r"nextn\.")),
            format=next((group.format for group in groups if group.role == "mtp"), None),
            bytes=sum(group.bytes for group in groups if group.role == "mtp"),
        ),
        multimodal=any(group.role == "vision" for group in groups),
        tied_embeddings="output.weight" not in names,
        chat_markers=markers_in(template if isinstance(template, str) else ""),
    )


class _Keys:
    """Metadata of the architecture: ``llama.block_count`` is asked for as ``block_count``."""

    def __init__(self, path: Path, metadata: Metadata) -> None:
        self._path = path
        self._metadata = metadata
        architecture = metadata.get("general.architecture")
        if not isinstance(architecture, str):
            raise CheckpointError(f"{path}: no general.architecture in its GGUF metadata: not a language model")
        self.architecture = architecture

    def number(self, key: str) -> int | None:
        value = self._metadata.get(f"{self.architecture}.{key}")
        return int(value) if isinstance(value, int | float) else None

    def widest(self, key: str) -> int | None:
        """The greatest of a value that may be given per layer."""
        value = self._metadata.get(f"{self.architecture}.{key}")
        return int(max(value)) if isinstance(value, list) and value else self.number(key)

    def need(self, key: str) -> int:
        value = self.number(key)
        if value is None:
            raise CheckpointError(
                f"{self._path}: no {self.architecture}.{key} in its GGUF metadata: damaged, or a part"
            )
        return value


def _role(name: str) -> Role:
    return next((role for pattern, role in _ROLES if re.search(pattern, name)), "other")


def _blocks(names: set[str], pattern: str) -> set[str]:
    """Layers that hold a tensor whose name after ``blk.N.`` begins with ``pattern``."""
    matches = (re.match(rf"blk\.(\d+)\.(?:{pattern})", name) for name in names)
    return {match[1] for match in matches if match}


def _length(value: object) -> int:
    return value.length if isinstance(value, ArrayLength) else len(value) if isinstance(value, list) else 0


def _experts(keys: _Keys, names: set[str]) -> Experts | None:
    count, per_token = keys.number("expert_count"), keys.number("expert_used_count")
    if not count or not per_token:
        return None
    shared = keys.number("expert_shared_count") or int(bool(_blocks(names, r"ffn_\w+_shexp")))
    return Experts(
        layers=len(_blocks(names, r"ffn_\w+_exps")),
        count=count,
        per_token=per_token,
        shared=shared,
        intermediate_size=keys.number("expert_feed_forward_length"),
    )


def _mla(keys: _Keys) -> MultiheadLatentAttention | None:
    rank, rope = keys.number("attention.kv_lora_rank"), keys.number("rope.dimension_count")
    return MultiheadLatentAttention(kv_lora_rank=rank, rope_head_dim=rope) if rank and rope else None


def _linear(keys: _Keys, names: set[str]) -> LinearAttention | None:
    """Recurrent layers: ``ssm.time_step_rank`` value heads share ``ssm.inner_size``; ``ssm.group_count`` key heads."""
    layers = len(_blocks(names, r"ssm_"))
    inner, state, heads = (keys.number(f"ssm.{key}") for key in ("inner_size", "state_size", "time_step_rank"))
    if not layers or not inner or not state or not heads:
        return None
    return LinearAttention(
        layers=layers,
        key_heads=keys.number("ssm.group_count") or 1,
        value_heads=heads,
        key_head_dim=state,
        value_head_dim=inner // heads,
        conv_kernel=keys.number("ssm.conv_kernel") or 4,
    )
