"""vLLM's OpenAI-compatible server. Facts: arguments, metrics and log lines of vLLM 0.17 to 0.33."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from shakedown.domain.argv import argparse_words
from shakedown.domain.base import ArgValue, Scalar
from shakedown.domain.candidate import Candidate, argument_name
from shakedown.domain.facts import LaunchShape
from shakedown.domain.metric import CounterWindow
from shakedown.domain.trial import Span
from shakedown.domain.words import EngineKind
from shakedown.engines.base import BootPhase, LaunchPlan, Probe, TokenLogprobs
from shakedown.engines.reading import (
    Metrics,
    first_model,
    fraction,
    scalar,
    shell_line,
    switch,
    whole,
    word,
)

_ALIASES = {
    "tp": "tensor-parallel-size", "pp": "pipeline-parallel-size", "dp": "data-parallel-size",
    "dcp": "decode-context-parallel-size", "pcp": "prefill-context-parallel-size", "ep": "enable-expert-parallel",
    "q": "quantization", "sc": "speculative-config", "cc": "compilation-config", "ac": "attention-config",
    "asc": "api-server-count", "dpl": "data-parallel-size-local", "dpa": "data-parallel-address",
    "dpb": "data-parallel-backend", "dpr": "data-parallel-start-rank", "dpn": "data-parallel-rank",
    "dpp": "data-parallel-rpc-port", "dph": "data-parallel-hybrid-lb", "dpe": "data-parallel-external-lb",
}  # fmt: skip
_OWNED = frozenset({"model", "model-tag", "host", "port"})
_EXACT_KV = frozenset({"auto", "bfloat16", "float16"})
_DRAFT_HEADS = ("mtp", "deepseek_mtp", "qwen3_next_mtp", "qwen3_5_mtp", "glm4_moe_mtp", "mimo_mtp", "ernie_mtp")
_LOOKUP_DRAFTERS = ("ngram", "ngram_gpu", "suffix")
_MOST_LOGPROBS = 20
"""Default of ``--max-logprobs``."""


def _body(token_ids: Sequence[int], model: str) -> dict[str, object]:
    return {"model": model, "prompt": list(token_ids), "max_tokens": 1, "temperature": 0}


class _PromptLogprobs:
    """``prompt_logprobs`` of ``/v1/completions``."""

    def request(self, token_ids: Sequence[int], top: int, model: str) -> Probe:
        body = _body(token_ids, model) | {"prompt_logprobs": min(top, _MOST_LOGPROBS), "return_token_ids": True}
        return Probe("POST", "/v1/completions", body)

    def parse(self, answer: Mapping[str, object]) -> list[TokenLogprobs]:
        match answer.get("choices"):
            case [{"prompt_logprobs": [_, *positions], "prompt_token_ids": [_, *own]}, *_]:
                return [_position(int(token), position) for token, position in zip(own, positions, strict=True)]
            case [{"prompt_logprobs": [_, *positions]}, *_]:
                # Releases that return no ids list the token that stood there first.
                return [_position(int(next(iter(position))), position) for position in positions]
        raise ValueError("no prompt_logprobs in the answer of /v1/completions")


class _CompletionLogprobs:
    """``/v1/completions`` with token ids."""

    prompt = _PromptLogprobs()

    def next_token_request(self, token_ids: Sequence[int], top: int, model: str) -> Probe:
        body = _body(token_ids, model)
        body |= {"logprobs": min(top, _MOST_LOGPROBS), "return_tokens_as_token_ids": True}
        return Probe("POST", "/v1/completions", body)

    def parse_next_token(self, answer: Mapping[str, object]) -> TokenLogprobs:
        match answer.get("choices"):
            case [
                {"logprobs": {"tokens": [str(token), *_], "token_logprobs": [own, *_], "top_logprobs": [top, *_]}},
                *_,
            ]:
                return TokenLogprobs(
                    token_id=_id_of(token),
                    logprob=float(own) if isinstance(own, int | float) else None,
                    top={_id_of(name): float(value) for name, value in (top or {}).items()},
                )
        raise ValueError("no logprobs in the answer of /v1/completions")


def _id_of(token: str) -> int:
    """``token_id:123`` gives 123."""
    prefix, _, number = token.partition(":")
    if prefix != "token_id" or not number.isdigit():
        raise ValueError(f"{token!r} is no token id: the server ignored return_tokens_as_token_ids")
    return int(number)


def _position(token_id: int, alternatives: Mapping[str, Mapping[str, float]]) -> TokenLogprobs:
    top = {int(name): float(entry["logprob"]) for name, entry in alternatives.items()}
    return TokenLogprobs(token_id=token_id, logprob=top.get(token_id), top=top)


class VLLM:
    """Adapter of ``vllm serve``."""

    kind = EngineKind.VLLM
    boot_phases = (
        BootPhase("resolving arguments", r"non-default args:"),
        BootPhase("starting engine core", r"Initializing a V1 LLM engine"),
        BootPhase("loading weights", r"Starting to load model|Loading safetensors checkpoint shards"),
        BootPhase("weights loaded", r"Model loading took"),
        BootPhase("compiling", r"Dynamo bytecode transform time|Using cache directory: .* torch\.compile"),
        BootPhase("allocating KV cache", r"Available KV cache memory|GPU KV cache size|CPU KV cache size"),
        BootPhase("capturing CUDA graphs", r"Capturing CUDA graphs?"),
        BootPhase("starting HTTP server", r"Starting vLLM (API )?server"),
        BootPhase("ready", r"Application startup complete"),
    )
    health_path = "/health"
    metrics_path = "/metrics"
    aliases: Mapping[str, str] = _ALIASES
    supports_ignore_eos = True
    logprobs = _CompletionLogprobs()
    cache_flush = None
    """Only in development mode, which opens the server to anyone who reaches it."""
    info_probes = (Probe("GET", "/version"), Probe("GET", "/v1/models"))

    def canonical_args(self, args: Mapping[str, ArgValue]) -> dict[str, ArgValue]:
        """Return ``args`` under vLLM's long names."""
        named = ((argument_name(name), value) for name, value in args.items())
        return {_ALIASES.get(name, name): value for name, value in named}

    def launch_plan(self, candidate: Candidate, *, host: str, port: int) -> LaunchPlan:
        """Start ``command`` or vLLM's own command line in ``python``; the model is the first word after it."""
        engine = candidate.engine
        args: dict[str, ArgValue] = {"host": host, "port": port, "served-model-name": candidate.model.name}
        asked = self.canonical_args(candidate.args)
        args.update({name: value for name, value in asked.items() if name not in _OWNED})
        program = engine.command or (engine.python or "python3", "-m", "vllm.entrypoints.cli.main", "serve")
        words = [spelled for name, value in args.items() for spelled in argparse_words(name, value)]
        return LaunchPlan(argv=(*program, candidate.model.path, *words), env=dict(candidate.env))

    def rank_args(self, span: Span) -> dict[str, ArgValue]:
        """VLLM's own multi-node mode (executor ``mp``): all but the leader run headless."""
        args: dict[str, ArgValue] = {
            "nnodes": span.nodes,
            "node-rank": span.rank,
            "master-addr": span.address,
            "master-port": span.port,
        }
        return args | ({"headless": True} if span.rank else {})

    def launch_shape(self, args: Mapping[str, ArgValue]) -> LaunchShape:
        """Read parallelism, cache types, limits and the speculative configuration."""
        given = self.canonical_args(args)
        speculation = _speculation(given)
        method = str(speculation.get("method", ""))
        drafted = speculation.get("num_speculative_tokens")
        return LaunchShape(
            tensor_parallel=whole(given, "tensor-parallel-size") or 1,
            pipeline_parallel=whole(given, "pipeline-parallel-size") or 1,
            data_parallel=whole(given, "data-parallel-size") or 1,
            expert_parallel=switch(given, "enable-expert-parallel"),
            kv_dtype=word(given, "kv-cache-dtype") or "auto",
            state_dtype=word(given, "mamba-ssm-cache-dtype"),
            max_requests=whole(given, "max-num-seqs"),
            context_tokens=whole(given, "max-model-len"),
            memory_fraction=fraction(given, "gpu-memory-utilization") or 0.92,
            draft_tokens=drafted if isinstance(drafted, int) else 0,
            draft_heads=method in _DRAFT_HEADS,
        )

    def effective_settings(
        self, answers: Sequence[Mapping[str, object] | None], log_lines: Iterable[str]
    ) -> dict[str, Scalar | None]:
        """Read ``/version``, ``/v1/models`` and the boot log, which prints the resolved configuration."""
        version, models = answers
        settings: dict[str, Scalar | None] = {
            "engine_version": scalar(version, "version"),
            "model_name": first_model(models),
        }
        match models:
            case {"data": [{"max_model_len": int(tokens)}, *_]}:
                settings["context_tokens"] = tokens
        return settings | _settings_from_log(log_lines)

    def counters(self, metrics_text: str) -> CounterWindow:
        """Read ``/metrics``; speculation counters are there only while it is on."""
        metrics = Metrics(metrics_text)
        accepted = metrics.by_label("vllm:spec_decode_num_accepted_tokens_per_pos_total", "position")
        return CounterWindow(
            prompt_tokens=metrics.total("vllm:prompt_tokens_total"),
            generated_tokens=metrics.total("vllm:generation_tokens_total"),
            drafts=metrics.total("vllm:spec_decode_num_drafts_total"),
            drafted_tokens=metrics.total("vllm:spec_decode_num_draft_tokens_total"),
            accepted_tokens=metrics.total("vllm:spec_decode_num_accepted_tokens_total"),
            finished_requests=metrics.total("vllm:request_success_total"),
            accepted_per_position=tuple(accepted[name] for name in sorted(accepted, key=int)) or None,
            preemptions=metrics.total("vllm:num_preemptions_total"),
            running_max=metrics.total("vllm:num_requests_running"),
            queued_max=metrics.total("vllm:num_requests_waiting"),
            kv_usage_max=metrics.highest("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
        )

    def lossy_settings(self, args: Mapping[str, ArgValue], env: Mapping[str, str] | None = None) -> list[str]:  # noqa: ARG002 - no variable of this engine does
        """Name quantised KV caches, quantisation at load, and acceptance that is made up or relaxed."""
        given = {name: value for name, value in self.canonical_args(args).items() if value is not False}
        found = []
        kv = word(given, "kv-cache-dtype")
        if kv is not None and kv not in _EXACT_KV:
            found.append(f"kv-cache-dtype = {kv}: the KV cache is quantised")
        sampling = _speculation(given).get("rejection_sample_method")
        if sampling in {"synthetic", "fly"}:
            found.append(f"rejection_sample_method = {sampling}: the text is not the model's")
        if word(given, "mamba-ssm-cache-dtype") in {"bfloat16", "float16"}:
            found.append("mamba-ssm-cache-dtype: recurrent states are kept in 16 bits")
        return found

    def forced_acceptance(self, candidate: Candidate, *, draft_tokens: int, accept_length: float) -> Candidate | None:
        """Use synthetic rejection sampling; drafters that look text up do not draft in every step."""
        given = self.canonical_args(candidate.args)
        speculation = _speculation(given)
        if str(speculation.get("method", "ngram")) in _LOOKUP_DRAFTERS:
            return None
        forced = {
            **speculation,
            "num_speculative_tokens": draft_tokens,
            "rejection_sample_method": "synthetic",
            "synthetic_acceptance_length": accept_length,
        }
        return candidate.model_copy(update={"args": {**given, "speculative-config": json.dumps(forced)}})

    def command_line(self, candidate: Candidate, *, host: str = "127.0.0.1", port: int = 8000) -> str:
        """Give the shell line."""
        return shell_line(self.launch_plan(candidate, host=host, port=port))


def _speculation(given: Mapping[str, ArgValue]) -> Mapping[str, object]:
    """The speculative configuration, which is JSON on the command line; empty where it is none."""
    try:
        content = json.loads(word(given, "speculative-config") or "{}")
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


_CONFIG_LINE = re.compile(r"Initializing a V1 LLM engine \((v[^)]+)\) with config: (.*)")
_CONFIG_KEYS = {
    "max_seq_len": "context_tokens", "kv_cache_dtype": "kv_cache_dtype", "quantization": "quantization",
    "tensor_parallel_size": "tensor_parallel_size", "enable_prefix_caching": "enable_prefix_caching",
    "enable_chunked_prefill": "enable_chunked_prefill", "enforce_eager": "enforce_eager",
    "disable_custom_all_reduce": "disable_custom_all_reduce",
}  # fmt: skip
"""Keys of the configuration line to our setting names."""
_KV_TOKENS = re.compile(r"[GC]PU KV cache size: ([\d,]+) tokens")
_ATTENTION = re.compile(r"Using (?:AttentionBackendEnum\.)?(\w+) (?:attention )?backend(?: out of|\.)")
_MOE = re.compile(r"Using '?([\w ]+?)'? (?:\w+ )?MoE backend out of")


def _settings_from_log(log_lines: Iterable[str]) -> dict[str, Scalar | None]:
    settings: dict[str, Scalar | None] = {}
    for line in log_lines:
        if found := _CONFIG_LINE.search(line):
            settings.setdefault("engine_version", found[1].removeprefix("v"))
            settings |= _from_config_line(found[2])
        elif found := _KV_TOKENS.search(line):
            settings["kv_cache_tokens"] = int(found[1].replace(",", ""))
        elif found := _MOE.search(line):
            settings["moe_backend"] = found[1]
        elif found := _ATTENTION.search(line):
            settings["attention_backend"] = found[1]
        elif "Application startup complete" in line:
            break
    return settings


def _from_config_line(text: str) -> dict[str, Scalar | None]:
    settings: dict[str, Scalar | None] = {}
    for key, name in _CONFIG_KEYS.items():
        found = re.search(rf"(?:^|, ){key}=([^,]+)", text)
        if found:
            settings[name] = _plain(found[1])
    method = re.search(r"speculative_config=(None|SpeculativeConfig\(method='([\w-]+)')", text)
    if method:
        settings["speculative_algorithm"] = method[2]
    return settings


def _plain(text: str) -> Scalar | None:
    if text in {"True", "False"}:
        return text == "True"
    if text == "None":
        return None
    return int(text) if text.isdigit() else text.strip("'")


ENGINE = VLLM()
