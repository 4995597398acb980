"""What the layers of a network are: attention of each kind, recurrent state, experts."""

from __future__ import annotations

from dataclasses import dataclass

from shakedown.domain.facts import Experts, LinearAttention, MultiheadLatentAttention
from shakedown.inspect.config_json import Config

_LINEAR = {"linear_attention", "mamba", "mamba2", "recurrent", "M"}
_SLIDING = {"sliding_attention", "chunked_attention", "sliding_window"}
_FULL = {"full_attention", "attention", "*"}
_NO_CACHE = {"-", "mlp", "moe", "E"}
"""Layers of NemotronH's pattern that only feed forward."""
_SLIDING_PATTERN = {"gemma2": 2, "gemma3": 6}
"""One full layer in so many, where the configuration leaves it to the model's class."""


@dataclass(frozen=True, slots=True)
class LayerKinds:
    """How many layers keep which kind of memory."""

    attention: int
    sliding: int
    linear: int


def layer_kinds(config: Config) -> LayerKinds:
    """Count layers by what they remember."""
    words = _layer_words(config)
    sliding = sum(word in _SLIDING for word in words)
    full = sum(word in _FULL for word in words)
    return LayerKinds(attention=full + sliding, sliding=sliding, linear=sum(word in _LINEAR for word in words))


def unread_layers(config: Config) -> list[str]:
    """Words of the layer pattern that are not understood; the memory of these layers is not counted."""
    return sorted(set(_layer_words(config)) - _LINEAR - _SLIDING - _FULL - _NO_CACHE)


def _layer_words(config: Config) -> list[str]:
    """A word for each layer: listed by the configuration, or by the rule of the family."""
    listed = config.text.get("layer_types") or config.text.get("layers_block_type")
    if isinstance(listed, list) and listed:
        return [str(word) for word in listed]
    pattern = config.text.get("hybrid_override_pattern")
    if isinstance(pattern, str):
        return list(pattern)
    full = _full_layers(config)
    other = "linear_attention" if _has_recurrence(config) else "sliding_attention"
    return ["full_attention" if full is None or number in full else other for number in range(config.layers)]


def _has_recurrence(config: Config) -> bool:
    return isinstance(config.text.get("linear_attn_config"), dict) or bool(config.number("linear_num_value_heads"))


def _full_layers(config: Config) -> set[int] | None:
    """Numbers of the layers with full attention, from 0; None: all of them."""
    layers = range(config.layers)
    kimi = config.text.get("linear_attn_config")
    if isinstance(kimi, dict) and isinstance(kimi.get("full_attn_layers"), list):
        return {number - 1 for number in kimi["full_attn_layers"]}  # Kimi Linear counts from 1
    every = config.number("full_attention_interval") if config.number("linear_num_value_heads") else None
    window = config.number("sliding_window")
    if every is None and window:
        every = config.number("sliding_window_pattern") or _SLIDING_PATTERN.get(config.model_type.removesuffix("_text"))
    if every and every > 1:
        return {number for number in layers if (number + 1) % every == 0}
    if window and config.flag("use_sliding_window", default=config.model_type == "mistral"):
        return set(range(config.number("max_window_layers") or 0))
    return None


def mla(config: Config) -> MultiheadLatentAttention | None:
    """Multi-head latent attention, if that is what it has."""
    rank, rope = config.number("kv_lora_rank"), config.number("qk_rope_head_dim")
    return MultiheadLatentAttention(kv_lora_rank=rank, rope_head_dim=rope) if rank and rope else None


def linear_attention(config: Config) -> LinearAttention | None:
    """The recurrent layers, if there are any whose state can be computed: delta nets and Mamba 2."""
    layers = layer_kinds(config).linear
    heads = config.number("linear_num_value_heads", "mamba_num_heads", "mamba_n_heads")
    kimi = config.text.get("linear_attn_config")
    if not layers:
        return None
    dtype = config.word("mamba_ssm_dtype", "mamba_ssm_cache_dtype") or "float32"
    if isinstance(kimi, dict):
        own = Config(kimi, config.path)
        heads, width = own.need("num_heads"), own.need("head_dim")
        kernel = own.number("short_conv_kernel_size") or 4
        keys = (heads, width)
    elif heads is not None and config.number("linear_num_value_heads"):
        width = config.need("linear_value_head_dim")
        kernel = config.number("linear_conv_kernel_dim") or 4
        keys = (config.need("linear_num_key_heads"), config.need("linear_key_head_dim"))
    elif heads is not None:
        width = config.need("mamba_head_dim", "mamba_d_head")
        kernel = config.number("conv_kernel", "mamba_d_conv") or 4
        keys = (config.number("n_groups", "mamba_n_groups") or 1, config.need("ssm_state_size", "mamba_d_state"))
    else:
        return None
    return LinearAttention(
        layers=layers, key_heads=keys[0], key_head_dim=keys[1], value_heads=heads, value_head_dim=width,
        conv_kernel=kernel, state_dtype=dtype,
    )  # fmt: skip


def experts_of(config: Config) -> Experts | None:
    """The mixture of experts, if it is one."""
    count = config.number("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
    per_token = config.number("num_experts_per_tok", "num_experts_per_token", "moe_topk", "top_k_experts", "moe_k")
    if not count or not per_token:
        return None
    shared = config.number("n_shared_experts", "num_shared_experts", "moe_num_shared_experts")
    if shared is None:
        shared = int(bool(config.number("shared_expert_intermediate_size")))
    return Experts(
        layers=_moe_layers(config),
        count=count,
        per_token=per_token,
        shared=shared,
        intermediate_size=config.number("moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size"),
    )


def _moe_layers(config: Config) -> int:
    pattern = config.text.get("hybrid_override_pattern")
    if isinstance(pattern, str) and "E" in pattern:
        return pattern.count("E")
    for name in ("mlp_layer_types", "moe_layer_freq"):
        listed = config.text.get(name)
        if isinstance(listed, list):
            return sum(1 for value in listed if value in ("sparse", "moe", 1))
    if isinstance(config.text.get("moe_layers"), list):
        return len(config.text["moe_layers"])
    first = config.number("first_k_dense_replace") or 0
    frequency = config.number("moe_layer_freq")
    step = frequency or config.number("decoder_sparse_step", "interleave_moe_layer_step") or 1
    # DeepSeek counts layers from 0, Qwen and Llama 4 from 1.
    offset = 0 if frequency else 1
    dense = config.text.get("mlp_only_layers") or []
    return sum(1 for n in range(first, config.layers) if (n + offset) % step == 0 and n not in dense)
