"""Weights counted from a configuration alone: for checkpoints without tensors, and to check those that have them.

Every term is the size of a matrix as the model's class in https://github.com/huggingface/transformers makes it. The
vision part is not counted.
"""

from __future__ import annotations

from shakedown.domain.facts import Role
from shakedown.inspect.config_json import Config
from shakedown.inspect.config_layers import experts_of, layer_kinds, linear_attention, mla

Counts = dict[Role, int]


def count_parameters(config: Config) -> Counts:
    """Count the weights of a configuration by role."""
    hidden, vocab, layers = config.need("hidden_size", "n_embd"), config.need("vocab_size"), config.layers
    kinds = layer_kinds(config)
    experts = experts_of(config)
    moe_layers = experts.layers if experts else 0
    tied = config.flag("tie_word_embeddings", default=False)
    counts: Counts = {
        "embedding": vocab * hidden,
        "lm_head": 0 if tied else vocab * hidden,
        "attention": kinds.attention * _attention(config, hidden),
        "linear_attention": kinds.linear * _linear(config, hidden),
        "norm": layers * _norms_per_layer(config) * hidden + hidden,
    }
    dense = _feed_forward(config, hidden, config.number("intermediate_size", "n_inner") or 4 * hidden)
    pattern = config.text.get("hybrid_override_pattern")
    counts["dense_mlp"] = (pattern.count("-") if isinstance(pattern, str) else layers - moe_layers) * dense
    routed, shared, router = _experts(config, hidden)
    counts |= {
        "routed_expert": moe_layers * routed,
        "shared_expert": moe_layers * shared,
        "router": moe_layers * router,
    }
    if config.draft_layers:
        ffn = routed + shared + router if moe_layers else dense
        # A draft layer is a whole layer with attention, the joining matrix and norms of its own.
        joined = 2 * hidden * hidden + 3 * hidden
        counts["mtp"] = config.draft_layers * (_attention(config, hidden) + ffn + 2 * hidden + joined)
    return {role: count for role, count in counts.items() if count}


def _norms_per_layer(config: Config) -> int:
    if config.text.get("hybrid_override_pattern"):
        return 1  # NemotronH's layers are a mixer or a feed-forward, never both
    return 4 if config.model_type.startswith(("gemma2", "gemma3")) else 2


def _attention(config: Config, hidden: int) -> int:
    if mla(config) is not None:
        return _latent_attention(config, hidden)
    heads, head_dim = config.heads, config.head_dim
    kv_heads = config.number("num_key_value_heads") or heads
    value_dim = config.number("v_head_dim") or head_dim
    queries, keys, values = heads * head_dim, kv_heads * head_dim, kv_heads * value_dim
    gate = 2 if config.flag("attn_output_gate", default=_gated(config)) else 1
    count = hidden * (queries * gate + keys + values) + heads * value_dim * hidden
    if config.flag("attention_bias", default=config.model_type in _QKV_BIAS) or config.flag("qkv_bias", default=False):
        count += queries + keys + values
        # Some have biases on q, k and v alone; the others that have any have one on the output too.
        count += 0 if config.model_type in _QKV_BIAS | {"glm4_moe"} else hidden
    if config.model_type in _QK_NORM or config.flag("use_qk_norm", default=False):
        count += 2 * head_dim
    return count + (heads if config.model_type == "gpt_oss" else 0)


_QKV_BIAS = frozenset(("qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl"))
_QK_NORM = frozenset(("qwen3", "qwen3_moe", "qwen3_next", "qwen3_5", "qwen3_5_moe", "gemma3", "gemma3_text", "qwen3_vl",
                      "qwen3_vl_moe"))  # fmt: skip


def _gated(config: Config) -> bool:
    """Qwen3-Next gates its attention output without saying so in the configuration."""
    return config.model_type == "qwen3_next"


def _latent_attention(config: Config, hidden: int) -> int:
    heads, rank, rope = config.heads, config.need("kv_lora_rank"), config.need("qk_rope_head_dim")
    nope, value = config.need("qk_nope_head_dim"), config.need("v_head_dim")
    query_rank = config.number("q_lora_rank")
    width = heads * (nope + rope)
    queries = hidden * query_rank + query_rank + query_rank * width if query_rank else hidden * width
    keys = hidden * (rank + rope) + rank + rank * heads * (nope + value)
    return queries + keys + heads * value * hidden + _indexer(config, hidden, query_rank)


def _indexer(config: Config, hidden: int, query_rank: int | None) -> int:
    """DeepSeek V3.2's sparse attention picks tokens with small heads of its own."""
    heads, width = config.number("index_n_heads"), config.number("index_head_dim")
    if not heads or not width or not query_rank:
        return 0
    return query_rank * heads * width + hidden * width + 2 * width + hidden * heads


def _linear(config: Config, hidden: int) -> int:
    linear = linear_attention(config)
    if linear is None:
        return 0
    keys, values = linear.key_heads * linear.key_head_dim, linear.value_heads * linear.value_head_dim
    mixed = 2 * keys + values
    # Gated delta net and Mamba 2 alike: one projection in (state inputs, gate, a step size a head; delta net: two), a
    # short convolution, per-head scalars, a norm, one projection out.
    if config.number("linear_num_value_heads"):
        scalars = 2 * linear.value_heads
        return (
            hidden * (mixed + values + scalars) + mixed * linear.conv_kernel + scalars + linear.value_head_dim
            + values * hidden
        )  # fmt: skip
    per_head = linear.value_heads
    return (
        hidden * (mixed + values + per_head)
        + mixed * (linear.conv_kernel + 1)
        + 3 * per_head
        + values
        + values * hidden
    )


def _feed_forward(config: Config, hidden: int, width: int) -> int:
    """Gate, up and down; two matrices where the activation has no gate."""
    return (2 if config.word("mlp_hidden_act") == "relu2" else 3) * hidden * width


def _experts(config: Config, hidden: int) -> tuple[int, int, int]:
    """Routed experts, shared experts and router of one layer."""
    experts = experts_of(config)
    if experts is None or experts.intermediate_size is None:
        return 0, 0, 0
    routed = experts.count * _feed_forward(config, hidden, experts.intermediate_size)
    router = hidden * experts.count
    if config.model_type == "gpt_oss":
        # Biases on every expert matrix and on the router.
        routed += experts.count * (2 * experts.intermediate_size + hidden)
        router += experts.count
    if config.word("topk_method") == "noaux_tc" or config.model_type in {"glm4_moe", "minimax_m2"}:
        router += experts.count
    own_width = config.number("shared_expert_intermediate_size")
    if own_width:
        # Qwen's shared expert has a gate of its own.
        return routed, _feed_forward(config, hidden, own_width) + hidden, router
    shared = experts.shared * _feed_forward(config, hidden, experts.intermediate_size)
    return routed, shared, router
