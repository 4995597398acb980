"""SGLang's server. Facts: the server arguments, metrics and log lines of SGLang 0.5.9 to 0.5.23."""

from __future__ import annotations

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
from shakedown.engines.reading import Metrics, fraction, scalar, shell_line, switch, whole, word

_ALIASES = {
    "tp": "tp-size", "tensor-parallel-size": "tp-size", "pp": "pp-size", "pipeline-parallel-size": "pp-size",
    "dp": "dp-size", "data-parallel-size": "dp-size", "ep": "ep-size", "expert-parallel-size": "ep-size",
    "dcp": "dcp-size", "decode-context-parallel-size": "dcp-size", "attention-context-parallel-size": "attn-cp-size",
    "attention-data-parallel-size": "attn-dp-size", "moe-data-parallel-size": "moe-dp-size",
    "nccl-init-addr": "dist-init-addr", "speculative-draft-model": "speculative-draft-model-path",
    "model": "model-path", "enable-hicache": "enable-hierarchical-cache",
    "hierarchical-sparse-attention-extra-config": "hisparse-config",
}  # fmt: skip
_OWNED = frozenset({"model-path", "host", "port"})
"""Given by the candidate's model and by the trial, never by arguments."""
_EXACT_KV = frozenset({"auto", "bf16", "bfloat16", "float16", "half"})
_DRAFTING_DEFAULT = 3
"""Steps of EAGLE-like speculation when none are given, Llama and Grok excepted (``auto_choose_speculative_params``)."""
_NGRAM_DRAFT = 11
"""N-gram speculation verifies 12 tokens, one of them not drafted."""
_SPECULATION_CAP = 48
"""Running requests that speculation allows when no limit is given (``_handle_speculative_decoding``)."""
_STATES_NO_BUFFER, _STATES_BUFFERED, _STATES_OVERLAPPED = 3, 4, 5
"""Recurrent states a running request takes with the prefix cache on, by strategy (``_calculate_mamba_ratio``; observed
on 0.5.17 with its defaults: at most 78 requests of 391 states, with speculation 29 of 147)."""


class _PromptLogprobs:
    """``/generate`` with token ids: log-probabilities of every prompt position in one request."""

    def request(self, token_ids: Sequence[int], top: int, model: str) -> Probe:  # noqa: ARG002 - one server, one model
        return _generate(token_ids, top, start=0)

    def parse(self, answer: Mapping[str, object]) -> list[TokenLogprobs]:
        match answer.get("meta_info"):
            case {"input_token_logprobs": list(own), "input_top_logprobs": list(tops)}:
                return [_position(one, top) for one, top in zip(own[1:], tops[1:], strict=True)]
        raise ValueError("no input_token_logprobs in the answer of /generate")


class _GenerateLogprobs:
    """``/generate`` with token ids: log-probabilities of the token that follows them."""

    prompt = _PromptLogprobs()

    def next_token_request(self, token_ids: Sequence[int], top: int, model: str) -> Probe:  # noqa: ARG002 - as above
        return _generate(token_ids, top, start=-1)

    def parse_next_token(self, answer: Mapping[str, object]) -> TokenLogprobs:
        match answer.get("meta_info"):
            case {"output_token_logprobs": [own, *_], "output_top_logprobs": [top, *_]}:
                return _position(own, top)
        raise ValueError("no output_token_logprobs in the answer of /generate")


def _generate(token_ids: Sequence[int], top: int, *, start: int) -> Probe:
    body = {
        "input_ids": list(token_ids),
        "sampling_params": {"max_new_tokens": 1, "temperature": 0},
        "return_logprob": True,
        "logprob_start_len": start,
        "top_logprobs_num": top,
    }
    return Probe("POST", "/generate", body)


def _position(own: object, top: object) -> TokenLogprobs:
    """A position is ``[logprob, token id, text]``, its alternatives a list of the same."""
    match own:
        case [logprob, int(token_id), *_]:
            entries = top if isinstance(top, list) else []
            return TokenLogprobs(
                token_id=token_id,
                logprob=float(logprob) if isinstance(logprob, int | float) else None,
                top={int(entry[1]): float(entry[0]) for entry in entries},
            )
    raise ValueError("a position without a token id in the answer of /generate")


class SGLang:
    """Adapter of ``sglang.launch_server``."""

    kind = EngineKind.SGLANG
    boot_phases = (
        BootPhase("resolving arguments", r"server_args=ServerArgs\("),
        BootPhase("connecting workers", r"Init torch distributed begin"),
        BootPhase("loading weights", r"Load weight begin"),
        BootPhase("allocating caches", r"(KV|Mamba) Cache is allocated"),
        BootPhase("capturing CUDA graphs", r"Capture .*(CUDA|cuda) graph begin"),
        BootPhase("starting HTTP server", r"Uvicorn running on|Application startup complete"),
        BootPhase("ready", r"The server is fired up and ready to roll"),
    )
    health_path = "/health"
    metrics_path = "/metrics"
    aliases: Mapping[str, str] = _ALIASES
    supports_ignore_eos = True
    logprobs = _GenerateLogprobs()
    cache_flush = Probe("POST", "/flush_cache")
    info_probes = (Probe("GET", "/server_info"), Probe("GET", "/get_server_info"), Probe("GET", "/v1/models"))
    """The second is the first one's name before 0.5.9."""

    def canonical_args(self, args: Mapping[str, ArgValue]) -> dict[str, ArgValue]:
        """Return ``args`` under the names that ``--help`` lists first."""
        named = ((argument_name(name), value) for name, value in args.items())
        return {_ALIASES.get(name, name): value for name, value in named}

    def launch_plan(self, candidate: Candidate, *, host: str, port: int) -> LaunchPlan:
        """Start ``command`` or ``python -m sglang.launch_server``, with metrics on."""
        engine = candidate.engine
        args: dict[str, ArgValue] = {"model-path": candidate.model.path, "host": host, "port": port}
        asked = self.canonical_args(candidate.args)
        args.setdefault("served-model-name", candidate.model.name)
        args.update({name: value for name, value in asked.items() if name not in _OWNED})
        args.setdefault("enable-metrics", True)
        program = engine.command or (engine.python or "python3", "-m", "sglang.launch_server")
        words = [spelled for name, value in args.items() for spelled in argparse_words(name, value)]
        return LaunchPlan(argv=(*program, *words), env=dict(candidate.env))

    def rank_args(self, span: Span) -> dict[str, ArgValue]:
        """Every rank runs the same command with its number (``--help``, multi-node)."""
        return {
            "nnodes": span.nodes,
            "node-rank": span.rank,
            "dist-init-addr": f"{span.address}:{span.port}",
        }

    def launch_shape(self, args: Mapping[str, ArgValue]) -> LaunchShape:
        """Read parallelism, cache types, limits and speculation; NEXTN and EAGLE draft 3 tokens unless told."""
        given = self.canonical_args(args)
        algorithm = (word(given, "speculative-algorithm") or "").upper()
        return LaunchShape(
            tensor_parallel=whole(given, "tp-size") or 1,
            pipeline_parallel=whole(given, "pp-size") or 1,
            data_parallel=whole(given, "dp-size") or 1,
            data_parallel_attention=switch(given, "enable-dp-attention"),
            expert_parallel=(whole(given, "ep-size") or 1) > 1,
            kv_dtype=word(given, "kv-cache-dtype") or "auto",
            state_dtype=word(given, "mamba-ssm-dtype"),
            max_requests=whole(given, "max-running-requests") or (_SPECULATION_CAP if algorithm else None),
            context_tokens=whole(given, "context-length"),
            memory_fraction=fraction(given, "mem-fraction-static"),
            draft_tokens=_draft_tokens(given, algorithm),
            draft_heads=algorithm in {"NEXTN", "EAGLE"} and word(given, "speculative-draft-model-path") is None,
            state_slots_per_request=_states_per_request(given),
            state_to_kv_ratio=fraction(given, "mamba-full-memory-ratio") or 0.9,
            on_gpu=word(given, "device") != "cpu",
        )

    def effective_settings(
        self, answers: Sequence[Mapping[str, object] | None], log_lines: Iterable[str]
    ) -> dict[str, Scalar | None]:
        """Read ``/server_info`` (the resolved arguments) and the boot log."""
        info = next((answer for answer in answers if answer), None)
        settings: dict[str, Scalar | None] = {
            "engine_version": scalar(info, "version"),
            "model_name": scalar(info, "served_model_name"),
            "max_running_requests": scalar(info, "max_running_requests"),
            "context_tokens": scalar(info, "context_length"),
            "kv_cache_tokens": scalar(info, "max_total_num_tokens"),
            "kv_cache_dtype": scalar(info, "kv_cache_dtype"),
        }
        settings |= {name: scalar(info, name) for name in _OWN_SETTINGS}
        match info.get("internal_states") if info else None:
            case [{"effective_max_running_requests_per_dp": int(cap)}, *_]:
                settings["max_running_requests"] = cap
        match answers[2]:
            case {"data": [{"max_model_len": int(tokens)}, *_]} if settings["context_tokens"] is None:
                settings["context_tokens"] = tokens
        return settings | _settings_from_log(log_lines)

    def counters(self, metrics_text: str) -> CounterWindow:
        """Read ``/metrics``.

        SGLang counts verification steps and tokens. Each step yields one token beside those accepted, and each finished
        request one from its prefill: the rest of the generated tokens were drafted and accepted. Releases that count no
        steps (0.5.10) still show the accept length of late as a gauge.
        """
        metrics = Metrics(metrics_text)
        generated = metrics.total("sglang:generation_tokens_total")
        steps = metrics.total("sglang:spec_verify_calls_total")
        finished = metrics.total("sglang:num_requests_total")
        width = metrics.highest("sglang:spec_num_draft_tokens")
        accepted = drafted = None
        if steps is not None and generated is not None:
            accepted = max(generated - steps - (finished or 0.0), 0.0) if steps else 0.0
        if steps is not None and (width or not steps):
            drafted = steps * ((width or 1.0) - 1)
        return CounterWindow(
            prompt_tokens=metrics.total("sglang:prompt_tokens_total"),
            generated_tokens=generated,
            drafts=steps,
            drafted_tokens=drafted,
            accepted_tokens=accepted,
            finished_requests=finished,
            accept_length=metrics.highest("sglang:spec_accept_length"),
            preemptions=metrics.total("sglang:num_retracted_requests_total"),
            running_max=metrics.total("sglang:num_running_reqs"),
            queued_max=metrics.total("sglang:num_queue_reqs"),
            kv_usage_max=metrics.highest("sglang:token_usage"),
        )

    def lossy_settings(self, args: Mapping[str, ArgValue], env: Mapping[str, str] | None = None) -> list[str]:
        """Name quantised KV caches, quantisation at load, and acceptance that is not exact."""
        given = {name: value for name, value in self.canonical_args(args).items() if value is not False}
        found = []
        kv = word(given, "kv-cache-dtype")
        if kv is not None and kv not in _EXACT_KV:
            found.append(f"kv-cache-dtype = {kv}: the KV cache is quantised")
        found += [
            f"{name} = {given[name]}: drafts are accepted that the model would not have chosen"
            for name in ("speculative-accept-threshold-single", "speculative-accept-threshold-acc")
            if name in given and fraction(given, name) != 1.0
        ]
        if env and "SGLANG_SIMULATE_ACC_LEN" in env:
            found.append("SGLANG_SIMULATE_ACC_LEN: acceptance is made up, the text is not the model's")
        online = word(given, "quantization")
        if online in {"nvfp4_online", "quark_int4fp8_moe"} or "torchao-config" in given:
            found.append("weights are quantised while they are loaded")
        if word(given, "mamba-ssm-dtype") in {"bfloat16", "float16"}:
            found.append(f"mamba-ssm-dtype = {given['mamba-ssm-dtype']}: recurrent states are kept in 16 bits")
        return found

    def forced_acceptance(self, candidate: Candidate, *, draft_tokens: int, accept_length: float) -> Candidate | None:
        """Use ``SGLANG_SIMULATE_ACC_LEN``; drafters that look text up do not draft in every step."""
        given = self.canonical_args(candidate.args)
        if (word(given, "speculative-algorithm") or "NGRAM").upper() == "NGRAM":
            return None
        draft: dict[str, ArgValue] = {
            "speculative-num-steps": draft_tokens,
            "speculative-eagle-topk": 1,
            "speculative-num-draft-tokens": draft_tokens + 1,
        }
        env = {**candidate.env, "SGLANG_SIMULATE_ACC_LEN": f"{accept_length:g}"}
        return candidate.model_copy(update={"args": {**given, **draft}, "env": env})

    def command_line(self, candidate: Candidate, *, host: str = "127.0.0.1", port: int = 8000) -> str:
        """Give the shell line."""
        return shell_line(self.launch_plan(candidate, host=host, port=port))


def _states_per_request(given: Mapping[str, ArgValue]) -> int:
    if switch(given, "disable-radix-cache"):
        return 1
    named = (word(given, name) for name in ("mamba-radix-cache-strategy", "mamba-scheduler-strategy"))
    if "no_buffer" in named:
        return _STATES_NO_BUFFER
    return _STATES_BUFFERED if switch(given, "disable-overlap-schedule") else _STATES_OVERLAPPED


def _draft_tokens(given: Mapping[str, ArgValue], algorithm: str) -> int:
    if not algorithm:
        return 0
    asked = whole(given, "speculative-num-draft-tokens")
    steps = whole(given, "speculative-num-steps")
    if algorithm == "NGRAM":
        return asked - 1 if asked else _NGRAM_DRAFT
    if (whole(given, "speculative-eagle-topk") or 1) == 1:
        return steps or _DRAFTING_DEFAULT
    return asked - 1 if asked else steps or _DRAFTING_DEFAULT


_OWN_SETTINGS = (
    "attention_backend", "decode_attention_backend", "prefill_attention_backend", "moe_runner_backend",
    "fp4_gemm_runner_backend", "fp8_gemm_runner_backend", "speculative_algorithm", "speculative_num_steps",
    "speculative_eagle_topk", "speculative_num_draft_tokens", "mamba_radix_cache_strategy", "mamba_scheduler_strategy",
    "linear_attn_backend", "quantization", "tp_size", "ep_size", "dp_size", "page_size", "chunked_prefill_size",
    "mem_fraction_static", "disable_radix_cache", "disable_overlap_schedule", "disable_custom_all_reduce",
    "enable_mscclpp", "enable_torch_symm_mem",
)  # fmt: skip
"""Resolved arguments that explain differences, under SGLang's own names."""
_LIMITS = re.compile(r"max_total_num_tokens=(\d+).*max_running_requests=(\d+), context_len=(\d+)")
_KV_DTYPE = re.compile(r"KV Cache is allocated\. dtype: torch\.(\w+)|Using KV cache dtype: torch\.(\w+)")


def _settings_from_log(log_lines: Iterable[str]) -> dict[str, Scalar | None]:
    settings: dict[str, Scalar | None] = {}
    for line in log_lines:
        if found := _LIMITS.search(line):
            names = ("kv_cache_tokens", "max_running_requests", "context_tokens")
            settings.update(zip(names, map(int, found.groups()), strict=True))
        elif (found := _KV_DTYPE.search(line)) and "kv_cache_dtype" not in settings:
            settings["kv_cache_dtype"] = found[1] or found[2]
        elif "The server is fired up" in line:
            break
    return settings


ENGINE = SGLang()
