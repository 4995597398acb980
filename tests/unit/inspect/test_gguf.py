from pathlib import Path

import pytest
from tests.fakes.gguf_files import write_gguf

from shakedown.domain.errors import CheckpointError
from shakedown.inspect.checkpoint import inspect_model

LLAMA = {
    "general.architecture": "llama",
    "llama.block_count": 2,
    "llama.context_length": 4096,
    "llama.embedding_length": 256,
    "llama.feed_forward_length": 512,
    "llama.attention.head_count": 8,
    "llama.attention.head_count_kv": 2,
    "tokenizer.ggml.tokens": [f"t{number}" for number in range(5000)],
    "tokenizer.chat_template": "{% if enable_thinking %}<think>{% endif %}",
}
LAYER = [
    ("attn_norm.weight", (256,), "f32"),
    ("attn_q.weight", (256, 256), "q8_0"),
    ("attn_k.weight", (256, 64), "q8_0"),
    ("attn_v.weight", (256, 64), "q8_0"),
    ("attn_output.weight", (256, 256), "q8_0"),
    ("ffn_up.weight", (256, 512), "q4_k"),
    ("ffn_down.weight", (512, 256), "q4_k"),
    ("ffn_gate.weight", (256, 512), "q4_k"),
]
TENSORS = [("token_embd.weight", (256, 5000), "q8_0")] + [
    (f"blk.{layer}.{name}", shape, kind) for layer in range(2) for name, shape, kind in LAYER
]


def test_a_dense_model(tmp_path: Path) -> None:
    facts = inspect_model(write_gguf(tmp_path / "m.gguf", LLAMA, TENSORS))
    assert (facts.format, facts.architecture) == ("gguf", "llama")
    assert (facts.layers, facts.attention_layers, facts.heads, facts.kv_heads, facts.head_dim) == (2, 2, 8, 2, 32)
    assert (facts.vocab_size, facts.context_tokens) == (5000, 4096)
    attention, mlp, embedding = 2 * (256 * 256 * 2 + 256 * 64 * 2), 2 * 3 * 256 * 512, 256 * 5000
    assert facts.parameters == attention + mlp + embedding + 2 * 256
    assert facts.active_parameters == facts.parameters
    assert facts.tied_embeddings
    by_role = {(group.role, group.format): group.bytes for group in facts.tensors}
    assert by_role["dense_mlp", "q4_k"] == mlp // 256 * 144
    assert by_role["attention", "q8_0"] == attention // 32 * 34
    assert facts.quantization is not None
    assert facts.quantization.algorithm == "Q4_K"
    assert facts.chat_markers == ("<think>", "enable_thinking")


def test_a_mixture_of_experts_counts_what_a_token_touches(tmp_path: Path) -> None:
    metadata = {
        **{key.replace("llama", "qwen3moe"): value for key, value in LLAMA.items()},
        "general.architecture": "qwen3moe",
        "qwen3moe.expert_count": 8,
        "qwen3moe.expert_used_count": 2,
        "qwen3moe.attention.key_length": 64,
    }
    experts = [(f"blk.{layer}.ffn_up_exps.weight", (256, 128, 8), "q4_k") for layer in range(2)]
    output = [("output.weight", (256, 5000), "q8_0")]
    facts = inspect_model(write_gguf(tmp_path / "m.gguf", metadata, [*TENSORS, *experts, *output]))
    assert facts.experts is not None
    assert (facts.experts.count, facts.experts.per_token, facts.experts.layers) == (8, 2, 2)
    assert facts.head_dim == 64
    assert facts.parameters is not None
    routed = 2 * 256 * 128 * 8
    assert facts.active_parameters == facts.parameters - routed * 3 // 4 - 256 * 5000


def test_a_hybrid_model_counts_only_attention_layers(tmp_path: Path) -> None:
    metadata = {
        **{key.replace("llama", "qwen3next"): value for key, value in LLAMA.items()},
        "general.architecture": "qwen3next",
        "qwen3next.ssm.inner_size": 4096,
        "qwen3next.ssm.state_size": 128,
        "qwen3next.ssm.time_step_rank": 32,
        "qwen3next.ssm.group_count": 16,
        "qwen3next.ssm.conv_kernel": 4,
    }
    linear = [
        ("blk.0.ssm_conv1d.weight", (4, 64), "f32"),
        ("blk.0.ssm_out.weight", (256, 256), "q8_0"),
        ("blk.0.attn_qkv.weight", (256, 256), "q8_0"),
    ]
    full = [(f"blk.1.{name}", shape, kind) for name, shape, kind in LAYER]
    facts = inspect_model(write_gguf(tmp_path / "m.gguf", metadata, [*linear, *full]))
    assert facts.attention_layers == 1
    assert facts.linear is not None
    assert (facts.linear.layers, facts.linear.value_heads, facts.linear.value_head_dim) == (1, 32, 128)
    assert (facts.linear.key_heads, facts.linear.key_head_dim) == (16, 128)


def test_a_file_cut_in_half_says_how_much_is_missing(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", LLAMA, TENSORS)
    size = path.stat().st_size
    with path.open("r+b") as stream:
        stream.truncate(size - 1000)
    with pytest.raises(CheckpointError, match=r"m\.gguf: cut short: .*download or copy it again"):
        inspect_model(path)


def test_a_file_cut_inside_its_header(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", LLAMA, TENSORS)
    with path.open("r+b") as stream:
        stream.truncate(3000)
    with pytest.raises(CheckpointError, match="ends inside its GGUF header"):
        inspect_model(path)


def test_what_is_no_model_is_said(tmp_path: Path) -> None:
    (tmp_path / "text.gguf").write_bytes(b"hello, this is no model at all")
    with pytest.raises(CheckpointError, match="does not begin with 'GGUF'"):
        inspect_model(tmp_path / "text.gguf")
    with pytest.raises(CheckpointError, match="no such file or folder"):
        inspect_model(tmp_path / "missing.gguf")
    with pytest.raises(CheckpointError, match=r"no general\.architecture"):
        inspect_model(write_gguf(tmp_path / "a.gguf", {"x": 1}, []))
    with pytest.raises(CheckpointError, match=r"no llama\.block_count"):
        inspect_model(write_gguf(tmp_path / "b.gguf", {"general.architecture": "llama"}, []))
    with pytest.raises(CheckpointError, match="GGUF version 9"):
        inspect_model(write_gguf(tmp_path / "c.gguf", {}, [], version=9))


def test_a_split_model_needs_every_part(tmp_path: Path) -> None:
    half = len(TENSORS) // 2
    first = write_gguf(tmp_path / "m-00001-of-00002.gguf", LLAMA, TENSORS[:half])
    with pytest.raises(CheckpointError, match="1 of 2 parts are missing: m-00002-of-00002"):
        inspect_model(first)
    write_gguf(tmp_path / "m-00002-of-00002.gguf", {"split.no": 1}, TENSORS[half:])
    whole = inspect_model(write_gguf(tmp_path / "m.gguf", LLAMA, TENSORS))
    assert inspect_model(first).parameters == whole.parameters
