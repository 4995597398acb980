"""TensorRT-LLM's ``trtllm-serve``: a few flags on the command line, everything else in a YAML file.

Facts: ``tensorrt_llm/commands/serve.py`` and ``tensorrt_llm/llmapi/llm_args.py`` of TensorRT-LLM 1.x. An argument whose
name has a dot, or that is no flag of the command line, goes into the file: ``kv_cache_config.dtype = "fp8"``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from shakedown.domain.base import ArgValue, Scalar
from shakedown.domain.candidate import Candidate, argument_name
from shakedown.domain.facts import LaunchShape
from shakedown.domain.metric import CounterWindow
from shakedown.domain.words import EngineKind
from shakedown.engines.base import BootPhase, LaunchPlan, Probe, TokenLogprobs
from shakedown.engines.reading import Metrics, first_model, fraction, scalar, shell_line, switch, whole, word

_ALIASES = {
    "tp-size": "tensor-parallel-size", "tp": "tensor-parallel-size", "pp-size": "pipeline-parallel-size",
    "pp": "pipeline-parallel-size", "ep-size": "moe-expert-parallel-size", "ep": "moe-expert-parallel-size",
    "cp-size": "context-parallel-size", "cluster-size": "moe-cluster-parallel-size",
    "kv-cache-free-gpu-memory-fraction": "free-gpu-memory-fraction", "extra-llm-api-options": "config",
}  # fmt: skip
_FLAGS = frozenset(
    ("tokenizer", "custom-tokenizer", "backend", "custom-module-dirs", "log-level", "max-beam-width", "max-batch-size",
     "max-num-tokens", "max-seq-len", "tensor-parallel-size", "pipeline-parallel-size", "context-parallel-size",
     "moe-expert-parallel-size", "moe-cluster-parallel-size", "gpus-per-node", "free-gpu-memory-fraction",
     "num-postprocess-workers", "trust-remote-code", "revision", "config", "reasoning-parser", "tool-parser",
     "metadata-server-config-file", "server-role", "fail-fast-on-attention-window-too-large", "otlp-traces-endpoint",
     "enable-chunked-prefill", "media-io-kwargs", "chat-template", "disagg-cluster-uri")
)  # fmt: skip
"""Flags of the command line; it spells them with underscores."""
_OWNED = frozenset({"model", "host", "port"})
_FILE = "trtllm.yaml"
_SPECULATION = "speculative-config.decoding-type"


class _CompletionLogprobs:
    """``/v1/completions`` with token ids. Alternatives come as text without ids: only the token's own is read."""

    prompt = None

    def next_token_request(self, token_ids: Sequence[int], top: int, model: str) -> Probe:
        body = {"model": model, "prompt": list(token_ids), "max_tokens": 1, "temperature": 0, "logprobs": top,
                "detokenize": False}  # fmt: skip
        return Probe("POST", "/v1/completions", body)

    def parse_next_token(self, answer: Mapping[str, object]) -> TokenLogprobs:
        match answer.get("choices"):
            case [{"token_ids": [int(token_id), *_], "logprobs": {"token_logprobs": [float() | int() as own, *_]}}, *_]:
                return TokenLogprobs(token_id=token_id, logprob=float(own), top={token_id: float(own)})
        raise ValueError("no token_ids and token_logprobs in the answer of /v1/completions")


class TensorRTLLM:
    """Adapter of ``trtllm-serve``."""

    kind = EngineKind.TENSORRT_LLM
    boot_phases = (
        BootPhase("starting", r"\[TensorRT-LLM\] TensorRT-LLM version|TensorRT-LLM version:"),
        BootPhase("loading weights", r"Loading (safetensors )?weights|Prefetching|load_weights"),
        BootPhase("allocating KV cache", r"KV cache|Allocated .* for max tokens in paged KV cache"),
        BootPhase("capturing CUDA graphs", r"(Creating|Capturing) CUDA graph|Running .*warmup"),
        BootPhase("ready", r"Application startup complete|Uvicorn running on"),
    )
    health_path = "/health"
    metrics_path = "/prometheus/metrics"
    aliases: Mapping[str, str] = _ALIASES
    supports_ignore_eos = True
    logprobs = _CompletionLogprobs()
    cache_flush = None
    info_probes = (Probe("GET", "/version"), Probe("GET", "/v1/models"))

    def canonical_args(self, args: Mapping[str, ArgValue]) -> dict[str, ArgValue]:
        """Return ``args`` under the long flag names; dotted names are paths into the YAML file."""
        named = ((argument_name(name), value) for name, value in args.items())
        return {_ALIASES.get(name, name): value for name, value in named}

    def launch_plan(self, candidate: Candidate, *, host: str, port: int) -> LaunchPlan:
        """Start ``command`` or ``trtllm-serve``'s module in ``python``; ``return_perf_metrics`` feeds the counters."""
        engine = candidate.engine
        asked = {name: value for name, value in self.canonical_args(candidate.args).items() if name not in _OWNED}
        content: dict[str, object] = {"return_perf_metrics": True}
        words: list[str] = []
        for name, value in asked.items():
            if name in _FLAGS:
                words += _flag_words(name, value)
            elif value is not False:
                _put(content, name.replace("-", "_").split("."), value)
        program = engine.command or (engine.python or "python3", "-m", "tensorrt_llm.commands.serve", "serve")
        argv = (*program, candidate.model.path, "--host", host, "--port", str(port), *words)
        if "config" in asked:
            return LaunchPlan(argv=argv, env=dict(candidate.env))
        files = {_FILE: json.dumps(content, indent=2) + "\n"}  # JSON is YAML
        return LaunchPlan(argv=(*argv, "--config", f"{{folder}}/{_FILE}"), env=dict(candidate.env), files=files)

    def launch_shape(self, args: Mapping[str, ArgValue]) -> LaunchShape:
        """Read flags and file keys."""
        given = self.canonical_args(args)
        kind = (word(given, _SPECULATION) or "").upper()
        drafted = whole(given, "speculative-config.max-draft-len")
        return LaunchShape(
            tensor_parallel=whole(given, "tensor-parallel-size") or 1,
            pipeline_parallel=whole(given, "pipeline-parallel-size") or 1,
            data_parallel_attention=switch(given, "enable-attention-dp"),
            data_parallel=(whole(given, "tensor-parallel-size") or 1) if switch(given, "enable-attention-dp") else 1,
            expert_parallel=(whole(given, "moe-expert-parallel-size") or 1) > 1,
            kv_dtype=word(given, "kv-cache-config.dtype") or "auto",
            state_dtype=word(given, "kv-cache-config.mamba-ssm-cache-dtype"),
            max_requests=whole(given, "max-batch-size"),
            context_tokens=whole(given, "max-seq-len"),
            memory_fraction=fraction(given, "free-gpu-memory-fraction") or 0.9,
            draft_tokens=(drafted or 1) if kind else 0,
            draft_heads=kind == "MTP",
        )

    def effective_settings(
        self, answers: Sequence[Mapping[str, object] | None], log_lines: Iterable[str]
    ) -> dict[str, Scalar | None]:
        """Read ``/version``, ``/v1/models`` and the boot log."""
        version, models = answers
        settings: dict[str, Scalar | None] = {
            "engine_version": scalar(version, "version"),
            "model_name": first_model(models),
        }
        for line in log_lines:
            if found := re.search(r"for max tokens in paged KV cache \((\d+)\)", line):
                settings["kv_cache_tokens"] = int(found[1])
        return settings

    def counters(self, metrics_text: str) -> CounterWindow:
        """Read ``/prometheus/metrics``, which counts requests and cache use and no drafts."""
        metrics = Metrics(metrics_text)
        return CounterWindow(
            prompt_tokens=metrics.total("trtllm_prompt_tokens_total"),
            generated_tokens=metrics.total("trtllm_generation_tokens_total"),
            kv_usage_max=metrics.highest("trtllm_kv_cache_utilization"),
        )

    def lossy_settings(self, args: Mapping[str, ArgValue], env: Mapping[str, str] | None = None) -> list[str]:  # noqa: ARG002 - no variable of this engine does
        """Name quantised KV caches and relaxed acceptance."""
        given = {name: value for name, value in self.canonical_args(args).items() if value is not False}
        found = []
        kv = word(given, "kv-cache-config.dtype")
        if kv is not None and kv != "auto":
            found.append(f"kv_cache_config.dtype = {kv}: the KV cache is quantised")
        if switch(given, "speculative-config.use-relaxed-acceptance-for-thinking"):
            found.append(
                "use_relaxed_acceptance_for_thinking: drafts are accepted that the model would not have chosen"
            )
        return found

    def forced_acceptance(self, candidate: Candidate, *, draft_tokens: int, accept_length: float) -> Candidate | None:
        """Give None: TensorRT-LLM has no such switch."""
        del candidate, draft_tokens, accept_length
        return None

    def command_line(self, candidate: Candidate, *, host: str = "127.0.0.1", port: int = 8000) -> str:
        """Give the shell line; ``{folder}`` stands for where the file was written."""
        return shell_line(self.launch_plan(candidate, host=host, port=port))


def _flag_words(name: str, value: ArgValue) -> list[str]:
    flag = "--" + name.replace("-", "_")
    if value is False:
        return []
    if value is True:
        return [flag]
    return [spelled for item in (value if isinstance(value, list) else [value]) for spelled in (flag, str(item))]


def _put(content: dict[str, object], path: Sequence[str], value: ArgValue) -> None:
    """Set a value inside nested tables; a plain value in the way is replaced by a table."""
    *tables, last = path
    for name in tables:
        inner = content.get(name)
        if not isinstance(inner, dict):
            inner = {}
            content[name] = inner
        content = inner
    content[last] = value


ENGINE = TensorRTLLM()
