"""Shapes of public models, from the fields their authors published in ``config.json``, with their published sizes.

``weights`` is what the Hub lists for the model, vision part and draft heads left out; ``kv_bytes`` is KV cache per
token in 16 bits, whole model, worked out by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Shape:
    """One public model."""

    config: dict[str, Any]
    weights: int
    kv_bytes: int
    tolerance: float = 0.0
    """Share by which small parts that no field tells (biases, norms) may differ."""
    active: float | None = None
    """Published active parameters, in units of a billion, where there are any."""


def _llama(**fields: Any) -> dict[str, Any]:
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "max_position_embeddings": 131072,
            "torch_dtype": "bfloat16", "tie_word_embeddings": False, **fields}  # fmt: skip


def _qwen3_moe(**fields: Any) -> dict[str, Any]:
    return {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "head_dim": 128, "vocab_size": 151936,
            "num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step": 1, "mlp_only_layers": [],
            "num_key_value_heads": 4, "attention_bias": False, "tie_word_embeddings": False, "sliding_window": None,
            "use_sliding_window": False, "torch_dtype": "bfloat16", **fields}  # fmt: skip


def _deepseek(**fields: Any) -> dict[str, Any]:
    return {"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "hidden_size": 7168,
            "intermediate_size": 18432, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64, "v_head_dim": 128, "moe_intermediate_size": 2048, "moe_layer_freq": 1,
            "n_shared_experts": 1, "num_experts_per_tok": 8, "num_hidden_layers": 61, "topk_method": "noaux_tc",
            "tie_word_embeddings": False, "attention_bias": False, "torch_dtype": "bfloat16", **fields}  # fmt: skip


def _gpt_oss(layers: int, experts: int) -> dict[str, Any]:
    return {"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "hidden_size": 2880,
            "intermediate_size": 2880, "num_hidden_layers": layers, "num_attention_heads": 64, "num_key_value_heads": 8,
            "head_dim": 64, "num_local_experts": experts, "num_experts_per_tok": 4, "vocab_size": 201088,
            "attention_bias": True, "sliding_window": 128, "tie_word_embeddings": False,
            "layer_types": ["sliding_attention", "full_attention"] * (layers // 2)}  # fmt: skip


QWEN35_TEXT: dict[str, Any] = {
    "model_type": "qwen3_5_moe_text", "vocab_size": 248320, "hidden_size": 4096, "num_hidden_layers": 60,
    "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 256, "attn_output_gate": True,
    "full_attention_interval": 4, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
    "linear_num_key_heads": 16, "linear_num_value_heads": 64, "moe_intermediate_size": 1024,
    "shared_expert_intermediate_size": 1024, "num_experts": 512, "num_experts_per_tok": 10,
    "max_position_embeddings": 262144, "mamba_ssm_dtype": "float32", "mtp_num_hidden_layers": 1, "dtype": "bfloat16",
    "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 15,
}  # fmt: skip

QWEN35: dict[str, Any] = {
    "architectures": ["Qwen3_5MoeForConditionalGeneration"], "model_type": "qwen3_5_moe", "tie_word_embeddings": False,
    "text_config": QWEN35_TEXT, "vision_config": {"depth": 27, "hidden_size": 1152},
}  # fmt: skip

QWEN35_35B: dict[str, Any] = {
    **QWEN35,
    "text_config": {
        **QWEN35_TEXT, "hidden_size": 2048, "num_hidden_layers": 40, "num_attention_heads": 16, "num_experts": 256,
        "num_experts_per_tok": 8, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
        "linear_num_value_heads": 32, "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 10,
    },
}  # fmt: skip

DEEPSEEK_V3 = _deepseek(
    num_attention_heads=128, num_key_value_heads=128, n_routed_experts=256, vocab_size=129280, first_k_dense_replace=3,
    num_nextn_predict_layers=1, max_position_embeddings=163840,
)  # fmt: skip

NEMOTRON_PATTERN = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"

SHAPES: dict[str, Shape] = {
    "llama-3.1-8b": Shape(
        _llama(hidden_size=4096, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8,
               intermediate_size=14336, vocab_size=128256), 8_030_261_248, 131_072),
    "llama-3.2-1b": Shape(
        _llama(hidden_size=2048, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8, head_dim=64,
               intermediate_size=8192, vocab_size=128256, tie_word_embeddings=True), 1_235_814_400, 32_768),
    "llama-3.3-70b": Shape(
        _llama(hidden_size=8192, num_hidden_layers=80, num_attention_heads=64, num_key_value_heads=8,
               intermediate_size=28672, vocab_size=128256), 70_553_706_496, 327_680),
    "mistral-7b-v0.1": Shape(
        _llama(architectures=["MistralForCausalLM"], model_type="mistral", hidden_size=4096, num_hidden_layers=32,
               num_attention_heads=32, num_key_value_heads=8, intermediate_size=14336, vocab_size=32000,
               sliding_window=4096), 7_241_732_096, 131_072),
    "mixtral-8x7b": Shape(
        _llama(architectures=["MixtralForCausalLM"], model_type="mixtral", hidden_size=4096, num_hidden_layers=32,
               num_attention_heads=32, num_key_value_heads=8, intermediate_size=14336, vocab_size=32000,
               num_local_experts=8, num_experts_per_tok=2, sliding_window=None), 46_702_792_704, 131_072, active=12.9),
    "phi-4": Shape(
        _llama(architectures=["Phi3ForCausalLM"], model_type="phi3", hidden_size=5120, num_hidden_layers=40,
               num_attention_heads=40, num_key_value_heads=10, intermediate_size=17920, vocab_size=100352,
               sliding_window=None), 14_659_507_200, 204_800),
    "qwen2.5-7b": Shape(
        _llama(architectures=["Qwen2ForCausalLM"], model_type="qwen2", hidden_size=3584, num_hidden_layers=28,
               num_attention_heads=28, num_key_value_heads=4, intermediate_size=18944, vocab_size=152064,
               use_sliding_window=False, sliding_window=131072, max_window_layers=28), 7_615_616_512, 57_344),
    "qwen3-8b": Shape(
        _llama(architectures=["Qwen3ForCausalLM"], model_type="qwen3", hidden_size=4096, num_hidden_layers=36,
               num_attention_heads=32, num_key_value_heads=8, head_dim=128, intermediate_size=12288, vocab_size=151936,
               attention_bias=False), 8_190_735_360, 147_456),
    "qwen3-30b-a3b": Shape(
        _qwen3_moe(hidden_size=2048, num_hidden_layers=48, num_attention_heads=32, intermediate_size=6144,
                   moe_intermediate_size=768), 30_532_122_624, 98_304, active=3.3),
    "qwen3-235b-a22b": Shape(
        _qwen3_moe(hidden_size=4096, num_hidden_layers=94, num_attention_heads=64, intermediate_size=12288,
                   moe_intermediate_size=1536), 235_093_634_560, 192_512, active=22.0),
    "qwen3-next-80b-a3b": Shape(
        {"architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "hidden_size": 2048,
         "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256,
         "full_attention_interval": 4, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
         "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "num_experts": 512,
         "num_experts_per_tok": 10, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
         "intermediate_size": 5120, "decoder_sparse_step": 1, "mlp_only_layers": [], "vocab_size": 151936,
         "tie_word_embeddings": False, "torch_dtype": "bfloat16"}, 79_674_391_296, 24_576, active=3.0),
    "qwen3.5-397b-a17b": Shape(QWEN35, 396_000_000_000, 30_720, tolerance=0.01, active=17.0),
    "qwen3.5-35b-a3b": Shape(QWEN35_35B, 34_700_000_000, 20_480, tolerance=0.01, active=3.0),
    "deepseek-v3": Shape(DEEPSEEK_V3, 671_026_419_200, 70_272, active=37.0),
    "deepseek-v2-lite": Shape(
        _deepseek(architectures=["DeepseekV2ForCausalLM"], model_type="deepseek_v2", hidden_size=2048,
                  num_hidden_layers=27, num_attention_heads=16, num_key_value_heads=16, q_lora_rank=None,
                  intermediate_size=10944, moe_intermediate_size=1408, n_routed_experts=64, n_shared_experts=2,
                  num_experts_per_tok=6, first_k_dense_replace=1, topk_method="greedy", vocab_size=102400),
        15_706_484_224, 31_104, active=2.4),
    "kimi-k2": Shape(
        _deepseek(architectures=["DeepseekV3ForCausalLM"], model_type="kimi_k2", num_attention_heads=64,
                  num_key_value_heads=64, n_routed_experts=384, first_k_dense_replace=1, vocab_size=163840,
                  num_nextn_predict_layers=0), 1_026_000_000_000, 70_272, tolerance=0.001, active=32.0),
    "gpt-oss-20b": Shape(_gpt_oss(24, 32), 20_914_757_184, 49_152, active=3.6),
    "gpt-oss-120b": Shape(_gpt_oss(36, 128), 116_829_156_672, 73_728, active=5.1),
    "gemma-2-9b": Shape(
        _llama(architectures=["Gemma2ForCausalLM"], model_type="gemma2", hidden_size=3584, num_hidden_layers=42,
               num_attention_heads=16, num_key_value_heads=8, head_dim=256, intermediate_size=14336, vocab_size=256000,
               sliding_window=4096, tie_word_embeddings=True), 9_241_705_984, 344_064),
    "gemma-3-27b": Shape(
        {"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "torch_dtype": "bfloat16",
         "tie_word_embeddings": True,
         "text_config": {"model_type": "gemma3_text", "hidden_size": 5376, "intermediate_size": 21504,
                         "num_hidden_layers": 62, "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128,
                         "sliding_window": 1024, "vocab_size": 262208},
         "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27}}, 27_009_346_304, 507_904),
    "mistral-small-3.1-24b": Shape(
        {"architectures": ["Mistral3ForConditionalGeneration"], "model_type": "mistral3", "torch_dtype": "bfloat16",
         "tie_word_embeddings": False,
         "text_config": {"model_type": "mistral", "hidden_size": 5120, "intermediate_size": 32768,
                         "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
                         "vocab_size": 131072, "sliding_window": None},
         "vision_config": {"hidden_size": 1024}}, 23_572_403_200, 163_840),
    "glm-4.5-air": Shape(
        {"architectures": ["Glm4MoeForCausalLM"], "model_type": "glm4_moe", "hidden_size": 4096,
         "num_hidden_layers": 46, "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128,
         "intermediate_size": 10944, "moe_intermediate_size": 1408, "n_routed_experts": 128, "n_shared_experts": 1,
         "num_experts_per_tok": 8, "first_k_dense_replace": 1, "attention_bias": True, "use_qk_norm": False,
         "vocab_size": 151552, "num_nextn_predict_layers": 1, "tie_word_embeddings": False,
         "torch_dtype": "bfloat16"}, 106_852_245_504, 188_416, tolerance=1e-6, active=12.0),
    "minimax-m2": Shape(
        {"architectures": ["MiniMaxM2ForCausalLM"], "model_type": "minimax_m2", "hidden_size": 3072,
         "num_hidden_layers": 62, "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128,
         "intermediate_size": 1536, "num_local_experts": 256, "num_experts_per_tok": 8, "vocab_size": 200064,
         "use_qk_norm": True, "tie_word_embeddings": False, "torch_dtype": "bfloat16"},
        228_690_000_000, 253_952, tolerance=0.001, active=10.0),
    "nemotron-h-8b": Shape(
        {"architectures": ["NemotronHForCausalLM"], "model_type": "nemotron_h", "hidden_size": 4096,
         "num_hidden_layers": 52, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
         "intermediate_size": 21504, "mlp_hidden_act": "relu2", "mamba_num_heads": 128, "mamba_head_dim": 64,
         "n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4, "vocab_size": 131072, "tie_word_embeddings": False,
         "hybrid_override_pattern": NEMOTRON_PATTERN, "torch_dtype": "bfloat16"},
        8_100_000_000, 16_384, tolerance=0.005),
}  # fmt: skip
