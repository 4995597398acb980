"""What the scripted SGLang does with which arguments: the scenes of the story."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import dataclass
from pathlib import Path

from tests.rehearsal.batch import Speed, faster

HYBRID_CAP = 1024
SPECULATION_CAP = 48
DEADLY_REQUESTS = 300
"""Running requests at which a cache that took nearly all memory leaves none for the step."""


def parser() -> argparse.ArgumentParser:
    """The flags of SGLang that the story needs, with its own names and choices."""
    parse = argparse.ArgumentParser(prog="launch_server.py", allow_abbrev=True)
    for name in ("model-path", "served-model-name", "quantization", "dtype", "reasoning-parser", "tool-call-parser"):
        parse.add_argument(f"--{name}")
    parse.add_argument("--host", default="127.0.0.1")
    parse.add_argument("--port", type=int, default=30000)
    parse.add_argument("--tp-size", "--tensor-parallel-size", "--tp", type=int, default=1)
    for name in ("trust-remote-code", "enable-metrics", "enable-mscclpp", "disable-radix-cache",
                 "disable-overlap-schedule"):  # fmt: skip
        parse.add_argument(f"--{name}", action="store_true")
    for name in ("context-length", "max-running-requests", "chunked-prefill-size", "cuda-graph-max-bs",
                 "speculative-num-steps", "speculative-eagle-topk", "speculative-num-draft-tokens"):  # fmt: skip
        parse.add_argument(f"--{name}", type=int)
    parse.add_argument("--mem-fraction-static", type=float)
    choices = {
        "moe-runner-backend": "auto deep_gemm triton triton_kernel flashinfer_trtllm flashinfer_trtllm_routed "
        "flashinfer_cutlass flashinfer_mxfp4 flashinfer_cutedsl cutlass",
        "fp4-gemm-backend": "auto flashinfer_cudnn flashinfer_cutlass flashinfer_trtllm cutlass",
        "kv-cache-dtype": "auto fp8_e5m2 fp8_e4m3 bf16 bfloat16 fp4_e2m1",
        "attention-backend": "triton torch_native flex_attention fa3 fa4 flashinfer trtllm_mha",
        "speculative-algorithm": "EAGLE EAGLE3 NEXTN STANDALONE NGRAM",
        "mamba-scheduler-strategy": "auto no_buffer extra_buffer",
    }
    for name, words in choices.items():
        parse.add_argument(f"--{name}", choices=words.split())
    return parse


@dataclass(frozen=True)
class Scene:
    """One launch: its arguments and what follows from them."""

    args: argparse.Namespace
    hybrid: bool
    quantized_cache: bool
    architecture: str

    @classmethod
    def of(cls, args: argparse.Namespace) -> Scene:
        config = json.loads((Path(args.model_path) / "config.json").read_text())
        text = config.get("text_config", config)
        asked = bool(config.get("quantization_config", {}).get("kv_cache_scheme"))
        kv = args.kv_cache_dtype or "auto"
        return cls(
            args=args,
            hybrid="linear_attention" in text.get("layer_types", ()),
            quantized_cache=kv.startswith("fp8") or (kv == "auto" and asked),
            architecture=config["architectures"][0],
        )

    @property
    def speculates(self) -> bool:
        """Asked to, or (the trap) switched on behind the launch line's back."""
        return self.args.speculative_algorithm is not None or "REHEARSAL_SPECULATES" in os.environ

    @property
    def steps(self) -> int:
        return (self.args.speculative_num_steps or 3) if self.speculates else 0

    @property
    def cap(self) -> int:
        return self.args.max_running_requests or (SPECULATION_CAP if self.speculates else HYBRID_CAP)

    @property
    def speed(self) -> Speed:
        factor = faster()
        if self.args.fp4_gemm_backend == "flashinfer_cutlass":
            factor *= 71.9 / 71.6
        if self.quantized_cache:
            factor *= 1.03
        forced = os.environ.get("SGLANG_SIMULATE_ACC_LEN")
        return Speed(factor, self.steps, float(forced) if forced and self.speculates else None)

    @property
    def refusal(self) -> str | None:
        """What the argument check raises: python/sglang/srt/server_args.py (_handle_speculative_decoding), 0.5.10."""
        args = self.args
        if args.speculative_algorithm is None:
            return None
        if args.speculative_num_steps is None and (args.speculative_eagle_topk or args.speculative_num_draft_tokens):
            return "AssertionError"
        ready = args.mamba_scheduler_strategy == "extra_buffer" and os.environ.get("SGLANG_ENABLE_SPEC_V2") == "1"
        if self.hybrid and not args.disable_radix_cache and not ready:
            return (
                f"ValueError: Speculative decoding for {self.architecture} is not compatible with radix cache when "
                "using --mamba-scheduler-strategy no_buffer. To use radix cache with speculative decoding, please use "
                "--mamba-scheduler-strategy extra_buffer and set SGLANG_ENABLE_SPEC_V2=1."
            )
        return None

    @property
    def has_no_kernels(self) -> bool:
        return str(self.args.moe_runner_backend).startswith("flashinfer_trtllm")

    @property
    def garbage(self) -> bool:
        return self.args.moe_runner_backend == "flashinfer_cutedsl"

    @property
    def hangs(self) -> bool:
        return self.args.attention_backend == "flashinfer"

    def dies_with(self, running: int) -> bool:
        return (self.args.mem_fraction_static or 0) >= 0.95 and running >= DEADLY_REQUESTS
