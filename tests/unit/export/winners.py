"""Campaign results whose winners need everything an export can say: GPUs, secrets, several nodes."""

from __future__ import annotations

import shlex
from typing import Any

from tests.unit.report.sample_results import demo_result

from shakedown.domain.result import CampaignResult

API_KEY = "sk-verysecretverysecret"
HUB_TOKEN = "hf_abcdefghijklmnopqrst"
SECRETS = (API_KEY, HUB_TOKEN, "hunter2")

MODEL = "/data/models/Qwen3.5-397B-A17B-NVFP4"
GPU = {"name": "NVIDIA RTX PRO 6000", "compute_capability": "12.0", "memory_total_bytes": 96 << 30}

SGLANG_ARGS: dict[str, Any] = {
    "tp": 8,
    "trust-remote-code": True,
    "quantization": "modelopt_fp4",
    "moe-runner-backend": "flashinfer_cutlass",
    "api-key": API_KEY,
    "json-model-override-args": '{"rope_scaling": {"type": "yarn"}}',
}
ENV = {
    "CUDA_HOME": "/usr/local/cuda-13.0",
    "HF_TOKEN": HUB_TOKEN,
    "GREETING": 'say "hi" & pay $5 at 100%',
    "DB_PASSWORD": "hunter2",
}


def llama_cpp() -> CampaignResult:
    """The demo's winner: one process on a CPU, a bare program name."""
    return demo_result()


def won_by(kind: str, program: list[str], args: dict[str, Any], env: dict[str, str], **machine: Any) -> CampaignResult:
    """The demo, won by another engine's candidate."""
    base = demo_result()
    assert base.winner is not None
    words = [*program]
    for name, value in args.items():
        words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    words += ["--host", "127.0.0.1", "--port", "30000"]
    command = " ".join([*(f"{name}={shlex.quote(value)}" for name, value in env.items()), shlex.join(words)])
    candidates = tuple(
        candidate.model_copy(update={"args": args, "env": env, "command": command, "boot_s": 312.4})
        if candidate.id == base.winner.id
        else candidate
        for candidate in base.candidates
    )
    return base.model_copy(
        update={
            "candidates": candidates,
            "winner": base.winner.model_copy(update={"command": command}),
            "engine": {"kind": kind, "version": "0.5.23"},
            "model": {"name": "Qwen3.5 397B", "path": MODEL},
            "machine": {"name": "box", "gpus": [GPU] * 8} | machine,
        }
    )


def sglang() -> CampaignResult:
    program = ["/opt/ml-env/bin/python3", "-m", "sglang.launch_server", "--model-path", MODEL]
    return won_by("sglang", program, SGLANG_ARGS, ENV)


def sglang_two_nodes() -> CampaignResult:
    program = ["/opt/ml-env/bin/python3", "-m", "sglang.launch_server", "--model-path", MODEL]
    args = SGLANG_ARGS | {"tp": 16, "nnodes": 2, "node-rank": 0, "dist-init-addr": "10.0.0.1:20000"}
    return won_by("sglang", program, args, ENV)


def vllm() -> CampaignResult:
    args = {"tensor-parallel-size": 4, "speculative-config": '{"method": "mtp", "num_speculative_tokens": 2}'}
    return won_by("vllm", ["/opt/vllm/bin/vllm", "serve", MODEL], args, {})


def tensorrt_llm() -> CampaignResult:
    args = {"tp-size": 2, "backend": "pytorch", "max-batch-size": 64}
    return won_by("tensorrt-llm", ["trtllm-serve", MODEL], args, {})


def unknown_engine() -> CampaignResult:
    return won_by("engine-of-tomorrow", ["tomorrow", "serve"], {}, {}, gpus=[])


def awkward_words() -> CampaignResult:
    """Words that every target language treats as its own."""
    args = {"chat-template": "{% if x %} $HOME $(id) ${x} `id` 100% \"q\" 'q' \\ # end", "empty": ""}
    return won_by("sglang", ["/opt/p y/bin/python3"], args, {"ODD": "a'b\"c $d `e` \\f %g # h"})


WINNERS = {
    "llama.cpp": llama_cpp(),
    "sglang": sglang(),
    "sglang-two-nodes": sglang_two_nodes(),
    "vllm": vllm(),
    "tensorrt-llm": tensorrt_llm(),
    "unknown": unknown_engine(),
    "awkward": awkward_words(),
}
