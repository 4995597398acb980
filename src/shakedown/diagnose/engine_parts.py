"""Which part of an engine refused: by the files and functions of a stack, and by what the lines next to an error name.

Read by ``exceptions.py``, like the words of ``vocabulary.py``.
"""

from __future__ import annotations

import re

from shakedown.diagnose.vocabulary import compiled
from shakedown.domain.words import Category

DRAFTING = re.compile(
    r"spec_decode/|/speculative/|speculative_|eagle\w*\.py|_mtp\.py|/mtp\.py|nextn\.py|medusa\w*\.py|dflash\w*\.py|dspark",
    re.IGNORECASE,
)
"""Files and functions that draft, or that load what drafts."""
DRAFT_NAMED = re.compile(
    r"\bdraft(?:er)? (?:model|context)|\bdrafter\b|\[spec\]|common_speculative|draft.?tokens|"
    r"draft[_ -]mtp|\bmtp (?:context|layers|heads?|block)|"
    r"\bctx_dft\b|/spec_decode/|/speculative/|eagle\w*\.py|_mtp\.py",
    re.IGNORECASE,
)
"""How the lines next to an error say that it was a draft model's."""
QUANTISED_LOADING = re.compile(r"bitsandbytes_loader|with bitsandbytes quantization", re.IGNORECASE)
"""How the stack or the lines next to an error say that weights were quantised while they were loaded."""
PLACES = compiled(
    (
        (r"spec_decode|speculative|eagle|_mtp\b|mtp\.py|medusa|draft", Category.SPECULATION),
        (
            (
                r"/quantization/|modelopt|compressed_tensors|marlin|fp8_|_fp8|fp4|awq|gptq|bitsandbytes|torchao|"
                r"/deep_gemm/jit_kernels|process_weights_after_loading"
            ),
            Category.QUANTIZATION,
        ),
        (
            (
                r"/flashinfer/(?:jit|compilation)|_inductor|_dynamo|/triton/(?:compiler|backends|"
                r"runtime/(?:build|jit))|"
                r"cpp_extension|deep_gemm/jit/|deep_gemm/utils|tvm_ffi/cpp|/tilelang/|cutlass/base_dsl"
            ),
            Category.JIT_TOOLCHAIN,
        ),
        (
            (
                r"device_communicators|parallel_state|c10d|distributed|pynccl|custom_all_reduce|symm_mem|deep_ep|"
                r"token_dispatcher|tcp_transport|rdma_transport|transfer_engine|shm_broadcast|nixl|mooncake|"
                r"disaggregation|kv_transfer|tllm_disagg|mpi4py|all2all"
            ),
            Category.COMMUNICATION,
        ),
        (r"server_args|arg_utils|llm_args|arg_groups|argparse|/vllm/config|click/", Category.BAD_ARGUMENTS),
        (
            (
                r"model_loader|weight_utils|load_weights|weight_loader|"
                r" _?load_\w*(?:w\d+|weight|qkv)|safetensors|/transformers/|tokeniz|"
                r"hf_transformers_utils|convert_checkpoint|weight_mapper|huggingface_hub|/gguf/"
            ),
            Category.MODEL_FILES,
        ),
        (r"memory_pool_host|pool_host|host_memory|pin_memory", Category.HOST_OUT_OF_MEMORY),
        (r"kv_cache_utils|memory_pool|block_pool|mem_cache|kv_cache_manager", Category.CAPACITY_TOO_SMALL),
        (r"attention/selector|backends/registry|platforms/(?:cuda|rocm)|arch_info", Category.ARCH_MISMATCH),
        (
            (
                r"cuda_graph|ggml-cuda|_ops\.py|/attention/|fused_moe|/moe/|flash_attn|sgl_kernel|/mamba/|/fla/|"
                r"linear_attn|causal_conv|layernorm|rotary_embedding|/flashinfer/|/cutlass|sampler\.py"
            ),
            Category.KERNEL_FAULT,
        ),
    )
)
"""Which part of an engine refused, by the files and functions of a stack."""
