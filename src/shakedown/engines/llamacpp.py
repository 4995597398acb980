"""llama.cpp's ``llama-server``: a binary, or the one in the ``xllamacpp`` wheel. Facts: docs/engines/llama.cpp.md."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence

from prometheus_client.parser import text_string_to_metric_families

from shakedown.domain.base import ArgValue, Scalar
from shakedown.domain.candidate import Candidate, EngineRef, argument_name
from shakedown.domain.facts import LaunchShape
from shakedown.domain.metric import CounterWindow
from shakedown.domain.words import EngineKind
from shakedown.engines.base import BootPhase, LaunchPlan, Probe, TokenLogprobs
from shakedown.engines.llamacpp_flags import ALIASES, ON_OFF_FLAGS

EMBEDDED_MODULE = "shakedown.launch.llama_server"
"""The wheel's server behind llama-server's flags; ``python`` must be an interpreter with ``llm-shakedown[demo]``."""

_VERBOSITY = 4
"""From this verbosity on, the log shows KV cache types and sizes, flash attention and speculation as resolved."""

_OWNED = frozenset({"model", "host", "port"})
"""Given by the candidate's model and by the trial, never by arguments."""

_LOSSLESS_CACHE_TYPES = frozenset({"f32", "f16", "bf16"})

_LOSSY = {
    "spec-synth-len": "acceptance is made up, the text is not the model's",
    "spec-synth-rates": "acceptance is made up, the text is not the model's",
    "context-shift": "when the context is full its oldest tokens are dropped",
    "rope-scaling": "positions are scaled away from what the model was trained on",
    "rope-scale": "positions are scaled away from what the model was trained on",
    "rope-freq-base": "the RoPE base differs from what the model was trained on",
    "rope-freq-scale": "positions are scaled away from what the model was trained on",
    "override-kv": "the model's own metadata is overridden",
    "lora": "an adapter changes the weights",
    "lora-scaled": "an adapter changes the weights",
    "control-vector": "a control vector changes the activations",
    "control-vector-scaled": "a control vector changes the activations",
}


class _CompletionLogprobs:
    """``/completion`` with a token array: log-probabilities of the raw logits, one generated token at a time."""

    prompt = None

    def next_token_request(self, token_ids: Sequence[int], top: int, model: str) -> Probe:
        body = {
            "model": model,
            "prompt": list(token_ids),
            "n_predict": 1,
            "n_probs": top,
            "temperature": 0,
            # A cached prefix was computed in other batch sizes, and its logits differ in the last bits.
            "cache_prompt": False,
        }
        return Probe("POST", "/completion", body)

    def parse_next_token(self, answer: Mapping[str, object]) -> TokenLogprobs:
        match answer.get("completion_probabilities"):
            case [{"id": int(token_id), "logprob": float() | int() as logprob, "top_logprobs": list(top)}, *_]:
                return TokenLogprobs(
                    token_id=token_id,
                    logprob=float(logprob),
                    top={int(entry["id"]): float(entry["logprob"]) for entry in top},
                )
        raise ValueError("no completion_probabilities in the answer of /completion")


class LlamaCpp:
    """Adapter of llama-server."""

    kind = EngineKind.LLAMA_CPP
    boot_phases = (
        BootPhase("starting", r"srv\s+init: init"),
        BootPhase("fitting to memory", r"fitting params to device memory"),
        BootPhase("loading weights", r"load_tensors: loading model tensors"),
        BootPhase("allocating KV cache", r"llama_kv_cache: size ="),
        BootPhase("warming up", r"warming up the model"),
        BootPhase("making slots", r"load_model: initializing, n_slots"),
        BootPhase("listening", r"listening on http"),
    )
    health_path = "/health"
    metrics_path = "/metrics"
    aliases: Mapping[str, str] = ALIASES
    supports_ignore_eos = True
    logprobs = _CompletionLogprobs()
    cache_flush = None
    """Slots are erased one by one, and only with ``--slot-save-path``; send ``cache_prompt: false`` instead."""
    info_probes = (Probe("GET", "/props"), Probe("GET", "/v1/models"))

    def canonical_args(self, args: Mapping[str, ArgValue]) -> dict[str, ArgValue]:
        """Return ``args`` under llama-server's long names."""
        named = ((argument_name(name), value) for name, value in args.items())
        return {ALIASES.get(name, name): value for name, value in named}

    def launch_plan(self, candidate: Candidate, *, host: str, port: int) -> LaunchPlan:
        """Start ``command``, the embedded server in ``python``, or ``llama-server`` from the PATH, in this order."""
        args: dict[str, ArgValue] = {"model": candidate.model.path, "host": host, "port": port}
        asked = self.canonical_args(candidate.args)
        if "alias" not in asked:
            args["alias"] = candidate.model.name
        args.update({name: value for name, value in asked.items() if name not in _OWNED})
        args.setdefault("metrics", True)
        if "verbose" not in args:
            args.setdefault("verbosity", _VERBOSITY)
        words = [word for name, value in args.items() for word in _flag(name, value)]
        return LaunchPlan(argv=(*_program(candidate.engine), *words), env=dict(candidate.env))

    def launch_shape(self, args: Mapping[str, ArgValue]) -> LaunchShape:
        """Read cache types and sizes; all slots share one context, and layers go to a GPU only when asked."""
        given = self.canonical_args(args)
        context = _whole(given.get("ctx-size")) or None
        slots = _whole(given.get("parallel"))
        return LaunchShape(
            kv_dtype=str(given.get("cache-type-k", "f16")),
            value_dtype=str(given.get("cache-type-v", "f16")),
            max_requests=slots if slots and slots > 0 else None,
            context_tokens=context,
            kv_tokens=context,
            on_gpu=bool(_whole(given.get("gpu-layers"))),
        )

    def effective_settings(
        self, answers: Sequence[Mapping[str, object] | None], log_lines: Iterable[str]
    ) -> dict[str, Scalar | None]:
        """Read ``/props`` and the boot log. A key is missing where the log was not verbose enough to say."""
        props, models = answers
        settings: dict[str, Scalar | None] = {
            "engine_version": _text(props, "build_info"),
            "model_name": _text(props, "model_alias") or _first_model(models),
            "max_running_requests": _number(props, "total_slots"),
            "context_tokens": _number(_mapping(props, "default_generation_settings"), "n_ctx"),
        }
        return settings | _settings_from_log(log_lines)

    def counters(self, metrics_text: str) -> CounterWindow:
        """Read ``/metrics``; speculation counters stand at 0 while speculation is off."""
        values: dict[str, float] = {}
        positions: dict[int, float] = {}
        for family in text_string_to_metric_families(metrics_text):
            for sample in family.samples:
                name = sample.name.removeprefix("llamacpp:")
                if name == "spec_decode_num_accepted_tokens_per_pos_total":
                    positions[int(sample.labels["position"])] = sample.value
                else:
                    values[name] = sample.value
        return CounterWindow(
            prompt_tokens=values.get("prompt_tokens_total"),
            generated_tokens=values.get("tokens_predicted_total"),
            drafts=values.get("spec_decode_num_drafts_total"),
            drafted_tokens=values.get("spec_decode_num_draft_tokens_total"),
            accepted_tokens=values.get("spec_decode_num_accepted_tokens_total"),
            accepted_per_position=tuple(positions[index] for index in sorted(positions)) or None,
            running_max=values.get("requests_processing"),
            queued_max=values.get("requests_deferred"),
        )

    def lossy_settings(self, args: Mapping[str, ArgValue], env: Mapping[str, str] | None = None) -> list[str]:  # noqa: ARG002 - no variable of this engine does
        """Name quantised KV caches, made-up acceptance, and whatever changes weights or positions."""
        given = {name: value for name, value in self.canonical_args(args).items() if value is not False}
        found = [
            f"cache-type-{half} = {given[name]}: the {half.upper()} half of the KV cache is quantised"
            for half in ("k", "v")
            if (name := f"cache-type-{half}") in given and given[name] not in _LOSSLESS_CACHE_TYPES
        ]
        return found + [f"{name}: {why}" for name, why in _LOSSY.items() if name in given]

    def forced_acceptance(self, candidate: Candidate, *, draft_tokens: int, accept_length: float) -> Candidate | None:
        """Use ``--spec-synth-len``; n-gram drafters do not draft in every step."""
        given = self.canonical_args(candidate.args)
        drafter = str(given.get("spec-type", "none"))
        if not drafter.startswith("draft-") or "," in drafter:
            return None
        forced: dict[str, ArgValue] = {"spec-draft-n-max": draft_tokens, "spec-synth-len": accept_length}
        return candidate.model_copy(update={"args": {**given, **forced}})

    def command_line(self, candidate: Candidate, *, host: str = "127.0.0.1", port: int = 8000) -> str:
        """Give the shell line; quoting is POSIX."""
        plan = self.launch_plan(candidate, host=host, port=port)
        env = [f"{name}={shlex.quote(value)}" for name, value in plan.env.items()]
        return " ".join([*env, shlex.join(plan.argv)])


def _whole(value: ArgValue | None) -> int | None:
    return int(value) if isinstance(value, int | str) and str(value).removeprefix("-").isdigit() else None


def _program(engine: EngineRef) -> tuple[str, ...]:
    if engine.command is not None:
        return engine.command
    if engine.python is not None:
        return (engine.python, "-m", EMBEDDED_MODULE)
    return ("llama-server",)


def _flag(name: str, value: ArgValue) -> list[str]:
    """Spell one argument; llama-server takes several values separated by commas."""
    flag = f"--{name}"
    if value is False:
        return []
    if value is True:
        return [flag, "on"] if name in ON_OFF_FLAGS else [flag]
    if isinstance(value, list):
        return [flag, ",".join(map(str, value))]
    return [flag, str(value)]


_LOG_SETTINGS: Sequence[tuple[re.Pattern[str], Sequence[str]]] = (
    (re.compile(r"system_info: n_threads = (\d+) \(n_threads_batch = (\d+)\)"), ("threads", "threads_batch")),
    (re.compile(r"llama_context: n_batch\s+= (\d+)"), ("n_batch",)),
    (re.compile(r"llama_context: n_ubatch\s+= (\d+)"), ("n_ubatch",)),
)
_FLASH = re.compile(r"llama_context: flash_attn\s+= (\w+)|Flash Attention (enabled|disabled|not supported)")
_UNIFIED = re.compile(r"n_slots = \d+, n_ctx_slot = \d+, kv_unified = '(true|false)'")
_KV_CACHE = re.compile(
    r"llama_kv_cache: size =\s*([\d.]+) MiB \(\s*(\d+) cells,.*?\d+/(\d+) seqs\), K \((\w+)\):.*V \((\w+)\):"
)
_SPECULATION = re.compile(r"adding speculative implementation '([\w-]+)'")
_NO_SPECULATION = re.compile(
    r"no implementations specified for speculative decoding|failed to initialize speculative decoding context"
)


def _settings_from_log(log_lines: Iterable[str]) -> dict[str, Scalar | None]:
    settings: dict[str, Scalar | None] = {}
    speculation: list[str] = []
    for line in log_lines:
        for pattern, names in _LOG_SETTINGS:
            if found := pattern.search(line):
                settings.update(zip(names, map(int, found.groups()), strict=True))
        if (found := _FLASH.search(line)) and (state := found[1] or found[2]) != "auto":
            settings["flash_attention"] = "on" if state == "enabled" else "off"
        elif found := _UNIFIED.search(line):
            settings["kv_unified"] = found[1] == "true"
        elif (found := _KV_CACHE.search(line)) and "kv_cache_tokens" not in settings:  # the first: not a draft model's
            settings |= _kv_cache(*found.groups())
        elif found := _SPECULATION.search(line):
            speculation.append(found[1])
        elif _NO_SPECULATION.search(line):
            settings["speculative_algorithm"] = None
        if "model loaded" in line:
            break
    if speculation:
        settings["speculative_algorithm"] = ",".join(speculation)
    return settings


def _kv_cache(mib: str, cells: str, streams: str, k: str, v: str) -> dict[str, Scalar | None]:
    # Each stream (one for all slots when unified, else one a slot) has that many cells, a token each.
    return {
        "kv_cache_tokens": int(cells) * int(streams),
        "kv_cache_mib": float(mib),
        "kv_cache_dtype": k if k == v else None,
        "kv_cache_dtype_k": k,
        "kv_cache_dtype_v": v,
    }


def _text(answer: Mapping[str, object] | None, key: str) -> str | None:
    value = answer.get(key) if answer else None
    return value if isinstance(value, str) else None


def _number(answer: Mapping[str, object] | None, key: str) -> int | None:
    value = answer.get(key) if answer else None
    return value if isinstance(value, int) else None


def _mapping(answer: Mapping[str, object] | None, key: str) -> Mapping[str, object] | None:
    value = answer.get(key) if answer else None
    return value if isinstance(value, dict) else None


def _first_model(models: Mapping[str, object] | None) -> str | None:
    match models:
        case {"data": [{"id": str(name)}, *_]}:
            return name
    return None


ENGINE = LlamaCpp()
