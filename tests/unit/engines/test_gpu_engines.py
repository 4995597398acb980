"""SGLang, vLLM and TensorRT-LLM adapters against what real servers have said (H200: SGLang 0.5.17, vLLM 0.26.0)."""

import json

import pytest

from shakedown.domain.base import ArgValue
from shakedown.domain.candidate import Candidate, EngineRef, ModelRef
from shakedown.domain.words import EngineKind
from shakedown.engines.registry import engine_for

SGLANG = engine_for(EngineKind.SGLANG)
VLLM = engine_for(EngineKind.VLLM)
TRTLLM = engine_for(EngineKind.TENSORRT_LLM)

SGLANG_METRICS = """\
# TYPE sglang:prompt_tokens_total counter
sglang:prompt_tokens_total{is_streaming="false",model_name="m"} 34.0
sglang:prompt_tokens_total{is_streaming="true",model_name="m"} 101376.0
# TYPE sglang:generation_tokens_total counter
sglang:generation_tokens_total{is_streaming="false",model_name="m"} 8.0
sglang:generation_tokens_total{is_streaming="true",model_name="m"} 25344.0
# TYPE sglang:spec_verify_calls_total counter
sglang:spec_verify_calls_total{model_name="m"} 25153.0
# TYPE sglang:num_requests_total counter
sglang:num_requests_total{is_streaming="false",model_name="m"} 1.0
sglang:num_requests_total{is_streaming="true",model_name="m"} 198.0
# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{model_name="m",tp_rank="0"} 29.0
sglang:num_running_reqs{model_name="m",tp_rank="1"} 29.0
# TYPE sglang:num_queue_reqs gauge
sglang:num_queue_reqs{model_name="m",tp_rank="0"} 19.0
# TYPE sglang:token_usage gauge
sglang:token_usage{model_name="m",tp_rank="0"} 0.05
# TYPE sglang:spec_num_draft_tokens gauge
sglang:spec_num_draft_tokens{model_name="m",tp_rank="0"} 4.0
"""
SGLANG_LOG = [
    "[2026-11-29 18:28:07] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 947772, K size: 9.04 GB, V size: 9.0",
    (
        "[2026-11-29 18:29:49] max_total_num_tokens=947772, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        "max_running_requests=29, context_len=262144, available_gpu_mem=31.54 GB"
    ),
    "[2026-11-29 18:29:53] The server is fired up and ready to roll!",
]
VLLM_METRICS = """\
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="m"} 101448.0
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="m"} 25440.0
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} 100.0
# TYPE vllm:spec_decode_num_draft_tokens_total counter
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="m"} 200.0
# TYPE vllm:spec_decode_num_accepted_tokens_total counter
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 150.0
# TYPE vllm:spec_decode_num_accepted_tokens_per_pos_total counter
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="1"} 60.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="0"} 90.0
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 48.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.074
"""
VLLM_LOG = [
    (
        "(EngineCore pid=7232) INFO 11-29 18:45:57 [core.py:116] Initializing a V1 LLM engine (v0.26.0) with config: "
        "model='/m', speculative_config=None, tokenizer='/m', dtype=torch.bfloat16, max_seq_len=8192, "
        "tensor_parallel_size=1, disable_custom_all_reduce=False, quantization=None, enforce_eager=False, "
        "kv_cache_dtype=auto, served_model_name=m, enable_prefix_caching=False, enable_chunked_prefill=True"
    ),
    "(EngineCore pid=7232) INFO [cuda.py:541] Using backend AttentionBackendEnum.FLASH_ATTN for vit attention",
    "(EngineCore pid=7232) INFO [unquantized.py:302] Using TRITON Unquantized MoE backend out of potential backends: [",
    "(EngineCore pid=7232) INFO [cuda.py:482] Using FLASH_ATTN attention backend out of potential backends: ['FLASH_A",
    "(EngineCore pid=7232) INFO [kv_cache_utils.py:2177] GPU KV cache size: 1,937,780 tokens",
    "(APIServer pid=7089) INFO:     Application startup complete.",
]


def candidate(kind: EngineKind, **args: object) -> Candidate:
    named = {name.replace("_", "-"): value for name, value in args.items()}
    return Candidate.model_validate(
        {"engine": EngineRef(kind=kind, python="/e/python"), "model": ModelRef(path="/m", name="n"), "args": named}
    )


def test_sglang_counts_drafts_from_steps_and_tokens() -> None:
    window = SGLANG.counters(SGLANG_METRICS)
    assert (window.prompt_tokens, window.generated_tokens) == (101_410, 25_352)
    assert window.drafts == 25_153
    assert window.drafted_tokens == 25_153 * 3
    # Random weights: nothing is accepted. 25,352 tokens are 25,153 steps and 199 first tokens.
    assert window.accepted_tokens == 0
    assert (window.running_max, window.queued_max) == (29, 19)


def test_sglang_reads_the_effective_cap() -> None:
    info = {"version": "0.5.17", "max_running_requests": None, "attention_backend": "fa3", "kv_cache_dtype": "auto",
            "speculative_algorithm": "EAGLE", "served_model_name": "m",
            "internal_states": [{"effective_max_running_requests_per_dp": 29}]}  # fmt: skip
    settings = SGLANG.effective_settings([info, None, None], SGLANG_LOG)
    assert settings["max_running_requests"] == 29
    assert settings["kv_cache_tokens"] == 947_772
    assert settings["kv_cache_dtype"] == "bfloat16"
    assert settings["context_tokens"] == 262_144
    assert settings["speculative_algorithm"] == "EAGLE"
    assert settings["engine_version"] == "0.5.17"


def test_sglang_says_its_context_length_among_its_models() -> None:
    models = {"data": [{"id": "m", "max_model_len": 8192}]}
    assert SGLANG.effective_settings([{"context_length": None}, None, models], [])["context_tokens"] == 8192
    assert SGLANG.effective_settings([{"context_length": 4096}, None, models], [])["context_tokens"] == 4096


@pytest.mark.parametrize(
    ("args", "states"),
    [
        ({}, 5),  # "capped to 78 ... max_mamba_cache_size=391, 5 state slots per request"
        ({"speculative_algorithm": "NEXTN"}, 5),
        ({"disable_overlap_schedule": True}, 4),
        ({"mamba_scheduler_strategy": "no_buffer"}, 3),
        ({"mamba_radix_cache_strategy": "no_buffer", "disable_overlap_schedule": True}, 3),
        ({"disable_radix_cache": True}, 1),
    ],
)
def test_sglang_keeps_recurrent_states_by_its_strategy(args: dict[str, ArgValue], states: int) -> None:
    assert SGLANG.launch_shape(args).state_slots_per_request == states


def test_sglang_reads_log_probabilities() -> None:
    answer = {"meta_info": {
        "input_token_logprobs": [[None, 5, None], [-1.5, 6, None], [-0.5, 7, None]],
        "input_top_logprobs": [None, [[-0.2, 9, None], [-1.5, 6, None]], [[-0.5, 7, None]]],
        "output_token_logprobs": [[-0.1, 8, None]], "output_top_logprobs": [[[-0.1, 8, None], [-3.0, 1, None]]],
    }}  # fmt: skip
    first, second = SGLANG.logprobs.prompt.parse(answer)
    assert (first.token_id, first.logprob, first.top) == (6, -1.5, {9: -0.2, 6: -1.5})
    assert second.token_id == 7
    assert SGLANG.logprobs.parse_next_token(answer).top == {8: -0.1, 1: -3.0}
    probe = SGLANG.logprobs.prompt.request([5, 6, 7], 4, "m")
    assert probe.body is not None
    assert probe.body["logprob_start_len"] == 0


@pytest.mark.parametrize(
    ("args", "drafted", "heads", "limit"),
    [
        ({}, 0, False, None),
        ({"speculative_algorithm": "NEXTN"}, 3, True, 48),
        ({"speculative_algorithm": "EAGLE", "speculative_num_steps": 5, "max_running_requests": 64}, 5, True, 64),
        ({"speculative_algorithm": "EAGLE", "speculative_draft_model_path": "/d"}, 3, False, 48),
        ({"speculative_algorithm": "NGRAM"}, 11, False, 48),
        (
            {
                "speculative_algorithm": "EAGLE",
                "speculative_num_steps": 5,
                "speculative_eagle_topk": 4,
                "speculative_num_draft_tokens": 8,
            },
            7,
            True,
            48,
        ),
    ],
)
def test_sglang_shape_of_speculation(args: dict[str, object], drafted: int, heads: bool, limit: int | None) -> None:
    shape = SGLANG.launch_shape(candidate(EngineKind.SGLANG, **args).args)
    assert (shape.draft_tokens, shape.draft_heads, shape.max_requests) == (drafted, heads, limit)


def test_shapes_of_parallelism_and_caches() -> None:
    sglang = SGLANG.launch_shape({"tp": "8", "dp": 4, "enable-dp-attention": True, "kv-cache-dtype": "fp8_e4m3"})
    assert (sglang.gpus, sglang.data_parallel, sglang.kv_dtype) == (8, 4, "fp8_e4m3")
    vllm = VLLM.launch_shape({"tp": 2, "dp": 2, "speculative-config": '{"method": "mtp", "num_speculative_tokens": 2}'})
    assert (vllm.gpus, vllm.draft_tokens, vllm.draft_heads) == (4, 2, True)
    trtllm = TRTLLM.launch_shape(
        {"tp_size": 4, "kv_cache_config.dtype": "fp8", "speculative_config.decoding_type": "MTP"}
    )
    assert (trtllm.tensor_parallel, trtllm.kv_dtype, trtllm.draft_heads) == (4, "fp8", True)


def test_vllm_counters() -> None:
    window = VLLM.counters(VLLM_METRICS)
    assert (window.drafts, window.drafted_tokens, window.accepted_tokens) == (100, 200, 150)
    assert window.accepted_per_position == (90, 60)
    assert (window.running_max, window.kv_usage_max) == (48, 0.074)
    assert window.preemptions is None


def test_vllm_settings() -> None:
    models = {"data": [{"id": "m", "max_model_len": 8192}]}
    settings = VLLM.effective_settings([{"version": "0.26.0"}, models], VLLM_LOG)
    assert settings["engine_version"] == "0.26.0"
    assert settings["context_tokens"] == 8192
    assert settings["kv_cache_tokens"] == 1_937_780
    assert settings["kv_cache_dtype"] == "auto"
    assert settings["attention_backend"] == "FLASH_ATTN"
    assert settings["moe_backend"] == "TRITON"
    assert settings["speculative_algorithm"] is None
    assert settings["enable_prefix_caching"] is False


def test_vllm_log_probabilities() -> None:
    prompt = {"choices": [{"prompt_logprobs": [None, {"6": {"logprob": -1.5}, "9": {"logprob": -0.2}}],
                           "prompt_token_ids": [5, 6]}]}  # fmt: skip
    (position,) = VLLM.logprobs.prompt.parse(prompt)
    assert (position.token_id, position.logprob, position.top) == (6, -1.5, {6: -1.5, 9: -0.2})
    del prompt["choices"][0]["prompt_token_ids"]
    assert VLLM.logprobs.prompt.parse(prompt) == [position]
    following = {"choices": [{"logprobs": {"tokens": ["token_id:8"], "token_logprobs": [-0.1],
                                           "top_logprobs": [{"token_id:8": -0.1, "token_id:1": -3}]}}]}  # fmt: skip
    assert VLLM.logprobs.parse_next_token(following).top == {8: -0.1, 1: -3.0}
    following["choices"][0]["logprobs"]["tokens"] = ["hello"]
    with pytest.raises(ValueError, match="no token id"):
        VLLM.logprobs.parse_next_token(following)


def test_tensorrt_llm_puts_what_is_no_flag_into_its_file() -> None:
    args = {
        "tp_size": 8,
        "kv_cache_config.dtype": "fp8",
        "moe_config.backend": "CUTLASS",
        "enable_chunked_prefill": True,
    }
    asked = Candidate.model_validate(
        {"engine": EngineRef(kind=EngineKind.TENSORRT_LLM, command=("trtllm-serve",)),
         "model": ModelRef(path="/m", name="n"), "args": args}
    )  # fmt: skip
    plan = TRTLLM.launch_plan(asked, host="127.0.0.1", port=8000)
    assert plan.argv[:2] == ("trtllm-serve", "/m")
    assert "--tensor_parallel_size" in plan.argv
    assert "--enable_chunked_prefill" in plan.argv
    ((name, text),) = plan.files.items()
    assert plan.argv[-1] == f"{{folder}}/{name}"
    content = json.loads(text)
    assert content["kv_cache_config"] == {"dtype": "fp8"}
    assert content["moe_config"] == {"backend": "CUTLASS"}


@pytest.mark.parametrize(
    ("kind", "args", "words"),
    [
        (EngineKind.SGLANG, {"kv-cache-dtype": "fp8_e4m3"}, "KV cache"),
        (EngineKind.SGLANG, {"speculative-accept-threshold-single": 0.9}, "accepted"),
        (EngineKind.SGLANG, {"quantization": "nvfp4_online"}, "while they are loaded"),
        (EngineKind.VLLM, {"kv-cache-dtype": "fp8"}, "KV cache"),
        (EngineKind.VLLM, {"sc": '{"rejection_sample_method": "synthetic"}'}, "not the model's"),
        (EngineKind.TENSORRT_LLM, {"kv_cache_config.dtype": "nvfp4"}, "KV cache"),
    ],
)
def test_lossy_settings_are_named(kind: EngineKind, args: dict[str, object], words: str) -> None:
    (said,) = engine_for(kind).lossy_settings(candidate(kind, **args).args)
    assert words in said


def test_what_is_exact_is_not_called_lossy() -> None:
    assert SGLANG.lossy_settings({"kv-cache-dtype": "bf16", "speculative-algorithm": "NEXTN"}) == []
    assert VLLM.lossy_settings({"kv-cache-dtype": "auto", "speculative-config": "not json"}) == []


def test_sglang_without_a_count_of_steps_shows_its_accept_length() -> None:
    text = 'sglang:generation_tokens_total 100.0\nsglang:spec_accept_length{tp_rank="0"} 2.9\n'
    window = SGLANG.counters(text)
    assert (window.drafts, window.accepted_tokens, window.accept_length) == (None, None, 2.9)


def test_sglang_steps_without_a_count_of_requests_still_give_accepted_tokens() -> None:
    window = SGLANG.counters("sglang:generation_tokens_total 100.0\nsglang:spec_verify_calls_total 40.0\n")
    assert (window.drafts, window.drafted_tokens, window.accepted_tokens) == (40.0, None, 60.0)


def test_sglang_that_never_verified_a_draft_says_so() -> None:
    window = SGLANG.counters("sglang:generation_tokens_total 100.0\nsglang:spec_verify_calls_total 0.0\n")
    assert (window.drafts, window.drafted_tokens, window.accepted_tokens) == (0.0, 0.0, 0.0)
    assert SGLANG.counters("sglang:generation_tokens_total 100.0\n").drafted_tokens is None


def test_an_older_name_of_the_information_is_read_too() -> None:
    told = {"version": "0.5.8", "max_running_requests": 12}
    assert SGLANG.effective_settings([None, told, None], [])["max_running_requests"] == 12


@pytest.mark.parametrize(
    ("kind", "args", "asked"),
    [
        (EngineKind.SGLANG, {"speculative-algorithm": "NEXTN"}, {"speculative-num-steps": 2}),
        (EngineKind.VLLM, {"speculative-config": '{"method": "mtp", "num_speculative_tokens": 3}'}, None),
        (EngineKind.LLAMA_CPP, {"spec-type": "draft-simple", "md": "d.gguf"}, {"spec-synth-len": 1.5}),
    ],
)
def test_acceptance_is_made_up_by_the_engines_own_switch(
    kind: EngineKind, args: dict[str, object], asked: dict[str, object] | None
) -> None:
    engine = engine_for(kind)
    candidate = Candidate(engine=EngineRef(kind=kind), model=ModelRef(path="/m", name="m"), args=args)
    forced = engine.forced_acceptance(candidate, draft_tokens=2, accept_length=1.5)
    assert forced is not None
    assert forced.id != candidate.id
    assert asked is None or asked.items() <= forced.args.items()
    assert any("the text is not the model's" in words for words in engine.lossy_settings(forced.args, forced.env))


@pytest.mark.parametrize(
    ("kind", "args"),
    [
        (EngineKind.SGLANG, {}),
        (EngineKind.SGLANG, {"speculative-algorithm": "NGRAM"}),
        (EngineKind.VLLM, {}),
        (EngineKind.VLLM, {"speculative-config": '{"method": "ngram", "num_speculative_tokens": 3}'}),
        (EngineKind.LLAMA_CPP, {"spec-type": "ngram-map-k"}),
        (EngineKind.TENSORRT_LLM, {"speculative-config.decoding-type": "MTP"}),
    ],
)
def test_what_does_not_draft_in_every_step_is_not_forced(kind: EngineKind, args: dict[str, object]) -> None:
    candidate = Candidate(engine=EngineRef(kind=kind), model=ModelRef(path="/m", name="m"), args=args)
    assert engine_for(kind).forced_acceptance(candidate, draft_tokens=2, accept_length=1.5) is None
