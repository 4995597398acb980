"""Facts about a checkpoint folder: ``config.json``, safetensors headers, chat template."""

from __future__ import annotations

import json
from pathlib import Path

from shakedown.domain.errors import CheckpointError
from shakedown.domain.facts import ModelFacts, Quantization, TensorGroup
from shakedown.inspect.chat_template import markers_in
from shakedown.inspect.config_json import Config
from shakedown.inspect.config_layers import experts_of, layer_kinds, linear_attention, mla, unread_layers
from shakedown.inspect.notes import notes_on
from shakedown.inspect.parameter_count import Counts, count_parameters
from shakedown.inspect.quantization_config import read_quantization, weight_bits
from shakedown.inspect.safetensors_files import TensorFiles, find_tensor_files, promised_names, read_header
from shakedown.inspect.tensor_groups import active_parameters
from shakedown.inspect.tensor_table import TensorTable

_FLOAT_BYTES = {"bfloat16": ("bf16", 2), "float16": ("f16", 2), "float32": ("f32", 4)}


def inspect_folder(folder: Path) -> ModelFacts:
    """Read a checkpoint folder; nothing but headers is read of the weights.

    Raises:
        CheckpointError: if it has no readable configuration, a shard is missing or a file is cut short.
    """
    config = Config.read(folder / "config.json")
    quantization = read_quantization(folder, config)
    files = find_tensor_files(folder)
    table = TensorTable(config.layers, config.draft_layers)
    table.read(files.files)
    from_config = count_parameters(config)
    method = quantization.method if quantization else ""
    groups = table.groups(packed_bits=weight_bits(quantization), method=method)
    groups = groups or _groups_of_config(from_config, config, quantization)
    kinds, experts, tied = layer_kinds(config), experts_of(config), config.flag("tie_word_embeddings", default=False)
    facts = ModelFacts(
        path=str(folder),
        format="safetensors",
        architecture=config.architecture,
        model_type=config.model_type,
        parameters=sum(group.parameters for group in groups),
        active_parameters=active_parameters(groups, experts, tied=tied),
        weight_bytes=sum(group.bytes for group in groups) or None,
        layers=config.layers,
        hidden_size=config.need("hidden_size", "n_embd"),
        attention_layers=kinds.attention,
        sliding_layers=kinds.sliding,
        sliding_window=config.number("sliding_window", "attention_chunk_size"),
        heads=config.heads,
        kv_heads=config.number("num_key_value_heads") or config.heads,
        head_dim=config.head_dim,
        value_head_dim=config.number("v_head_dim"),
        vocab_size=config.need("vocab_size"),
        context_tokens=config.number("max_position_embeddings", "max_sequence_length", "n_positions"),
        intermediate_size=config.number("intermediate_size", "n_inner"),
        dtype=config.word("dtype", "torch_dtype"),
        mla=mla(config),
        linear=linear_attention(config),
        experts=experts,
        quantization=quantization,
        tensors=groups,
        kv_scales=table.kv_scales(kinds.attention) if table.count else None,
        draft=table.draft_heads(config.draft_layers, groups) if table.count else None,
        multimodal=config.multimodal,
        tied_embeddings=tied,
        chat_markers=markers_in(_chat_template(folder)),
    )
    counted = sum(count for role, count in from_config.items() if role != "mtp")
    lost = _lost(files, table)
    notes = notes_on(facts, counted=counted, lost=lost, unread=unread_layers(config))
    return facts.model_copy(update={"notes": notes})


def _lost(files: TensorFiles, table: TensorTable) -> list[str]:
    """Names that the index promises and no file holds; read in full only where the numbers differ."""
    if files.index is None or files.promised == table.count:
        return []
    held = {name for path in files.files for name in read_header(path)}
    return sorted(promised_names(files.index) - held)


def _groups_of_config(counts: Counts, config: Config, quantization: Quantization | None) -> tuple[TensorGroup, ...]:
    """Stand in for tensors that are not there; only an unquantised model's bytes can be told."""
    fmt, width = _FLOAT_BYTES.get(config.word("dtype", "torch_dtype") or "bfloat16", ("bf16", 2))
    if quantization is not None:
        return ()
    return tuple(
        TensorGroup.model_validate(
            {"role": role, "format": fmt, "tensors": 0, "parameters": count, "bytes": count * width}
        )
        for role, count in counts.items()
        if role != "mtp"
    )


def _chat_template(folder: Path) -> str:
    alone = folder / "chat_template.jinja"
    if alone.exists():
        return alone.read_text(encoding="utf-8", errors="replace")
    tokenizer = folder / "tokenizer_config.json"
    if not tokenizer.exists():
        return ""
    try:
        template = json.loads(tokenizer.read_text(encoding="utf-8")).get("chat_template")
    except (ValueError, AttributeError) as error:
        raise CheckpointError(f"{tokenizer}: not a JSON object, perhaps cut short") from error
    if isinstance(template, list):
        return "".join(str(entry.get("template", "")) for entry in template if isinstance(entry, dict))
    return template if isinstance(template, str) else ""
