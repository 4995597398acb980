# mypy: disable-error-code="import-not-found,no-any-return"
"""Asks vLLM: the parser of ``vllm serve``, and its own engine configuration. No weights, no GPU memory."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import ask_common
import vllm
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.entrypoints.openai.cli_args import make_arg_parser, validate_parsed_serve_args
from vllm.usage.usage_lib import UsageContext

try:
    from vllm.utils.argparse_utils import FlexibleArgumentParser
except ImportError:  # older releases
    from vllm.utils import FlexibleArgumentParser

PACKAGES = ("torch", "triton", "transformers", "flashinfer-python", "deep-gemm", "flash-attn", "compressed-tensors",
            "nvidia-nccl-cu12", "nvidia-nccl-cu13", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13")  # fmt: skip
LIBRARIES = ("vllm", "flashinfer-cubin", "flashinfer-jit-cache")


def new_parser() -> argparse.ArgumentParser:
    """Build the parser of ``vllm serve``; it takes the model as its first word."""
    return make_arg_parser(FlexibleArgumentParser())


def resolve(words: list[str]) -> Mapping[str, Any]:
    """Build the configuration that ``vllm serve`` would start an engine with."""
    args = new_parser().parse_args(words)
    if getattr(args, "model_tag", None):
        args.model = args.model_tag
    validate_parsed_serve_args(args)
    config = AsyncEngineArgs.from_cli_args(args).create_engine_config(usage_context=UsageContext.OPENAI_API_SERVER)
    speculation = config.speculative_config
    return {
        "max-model-len": config.model_config.max_model_len,
        "dtype": str(config.model_config.dtype),
        "quantization": config.model_config.quantization,
        "kv-cache-dtype": str(config.cache_config.cache_dtype),
        "block-size": config.cache_config.block_size,
        "enable-prefix-caching": config.cache_config.enable_prefix_caching,
        "gpu-memory-utilization": config.cache_config.gpu_memory_utilization,
        "max-num-seqs": config.scheduler_config.max_num_seqs,
        "max-num-batched-tokens": config.scheduler_config.max_num_batched_tokens,
        "enable-chunked-prefill": getattr(config.scheduler_config, "enable_chunked_prefill", None),
        "async-scheduling": getattr(config.scheduler_config, "async_scheduling", None),
        "tensor-parallel-size": config.parallel_config.tensor_parallel_size,
        "disable-custom-all-reduce": config.parallel_config.disable_custom_all_reduce,
        "speculative-method": speculation.method if speculation else None,
        "num-speculative-tokens": speculation.num_speculative_tokens if speculation else None,
    }


def main() -> None:
    """Answer the question file."""
    about = {
        "version": vllm.__version__,
        "packages": ask_common.packages(PACKAGES),
        "libraries": ask_common.library_files(LIBRARIES),
    }
    ask_common.run(ask_common.flags_of(new_parser()), resolve, about)


main()
