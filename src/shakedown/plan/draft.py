"""Drafts a campaign file fit for a model, a machine and an engine, with a comment beside every choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from shakedown.domain.base import ArgValue
from shakedown.domain.facts import MachineFacts, ModelFacts
from shakedown.domain.words import EngineKind
from shakedown.plan.fact_table import sm_of
from shakedown.plan.launch_line import LaunchLine

_LONG_CONTEXT = 32_768


@dataclass(frozen=True, slots=True)
class Vary:
    """One dimension to propose: the argument, its values, and why it is worth varying here."""

    name: str
    why: str
    arg: str | None = None
    values: Sequence[ArgValue] = ()
    options: Sequence[tuple[str, Mapping[str, ArgValue]]] = ()


def draft_campaign(line: LaunchLine, model: ModelFacts | None, machine: MachineFacts | None) -> str:
    """Write the campaign file.

    Args:
        line: today's launch line, or what there is of one; it becomes the reference.
        model: the checkpoint; None where it cannot be read from here.
        machine: this machine.
    """
    args = {**_base_args(line, model, machine), **line.args}
    proposed = list(_dimensions(line.kind, model, machine))
    dimensions = [_from_today(vary, line.args) for vary in proposed] if line.args else proposed
    blocks = [
        _head(line),
        _engine(line, args, model),
        *(_dimension(vary) for vary in dimensions),
        *_workloads(model),
        _rest(dimensions),
    ]
    return "\n".join(blocks)


def _head(line: LaunchLine) -> str:
    name = line.name or line.model.rstrip("/").rsplit("/", 1)[-1].removesuffix(".gguf")
    return f"""\
# A campaign: which configuration of this server is correct and fastest here?
# See what it would do: shakedown plan FILE. Run it: shakedown run FILE. Every key: docs/campaign-file.md.

[campaign]
name = {_toml(name)}
objective = "output_tokens_per_s"   # or per_request_tokens_per_s, goodput (needs [slo]), ttft
budget = "8h"                       # stops in time and says what it knows by then

[model]
path = {_toml(line.model)}
name = {_toml(name)}
"""


def _engine(line: LaunchLine, args: Mapping[str, ArgValue], model: ModelFacts | None) -> str:
    lines = ["[engine]", f"kind = {_toml(line.kind.value)}"]
    if line.python is not None:
        lines.append(f"python = {_toml(line.python)}")
    if line.command is not None:
        lines.append(f"command = {_toml(list(line.command))}")
    lines += ["", "[engine.args]   # of every candidate"]
    parsers = _parsers(line.kind, model)
    for name, value in {**args, **{key: value for key, value in parsers.items() if key not in args}}.items():
        comment = "   # from the chat template" if name in parsers and name not in args else ""
        lines.append(f"{_key(name)} = {_toml(value)}{comment}")
    if line.env:
        lines += ["", "[engine.env]", *(f"{_key(name)} = {_toml(value)}" for name, value in line.env.items())]
    return "\n".join(lines) + "\n"


def _base_args(line: LaunchLine, model: ModelFacts | None, machine: MachineFacts | None) -> dict[str, ArgValue]:
    """The least that a first launch needs: as many GPUs as divide the heads, or the cores of this machine."""
    if line.args:
        return {}
    if line.kind is EngineKind.LLAMA_CPP:
        threads = machine.cores if machine is not None else None
        return {"ctx-size": 8192, "parallel": 4, **({"threads": threads} if threads else {})}
    gpus = len(machine.gpus or ()) if machine is not None else 0
    heads = model.heads if model is not None else 1
    fitting = max((count for count in (1, 2, 4, 8, 16) if count <= gpus and heads % count == 0), default=1)
    name = {EngineKind.SGLANG: "tp-size", EngineKind.VLLM: "tensor-parallel-size"}.get(
        line.kind, "tensor-parallel-size"
    )
    return {name: fitting} if fitting > 1 else {}


def _dimensions(kind: EngineKind, model: ModelFacts | None, machine: MachineFacts | None) -> Iterator[Vary]:
    if kind is EngineKind.LLAMA_CPP:
        yield from _llama_dimensions(machine)
    elif kind is EngineKind.SGLANG:
        yield from _sglang_dimensions(model, machine)
    elif kind is EngineKind.VLLM:
        yield from _vllm_dimensions(model)
    else:
        yield Vary("kv", "half the cache bytes; costs accuracy", "kv_cache_config.dtype", ["auto", "fp8"])
    yield from _speculation(kind, model)


def _llama_dimensions(machine: MachineFacts | None) -> Iterator[Vary]:
    yield Vary("kv", "a smaller cache is read faster; costs accuracy", "cache-type-k", ["f16", "q8_0"])
    yield Vary("flash", "fuses attention; a quantised V cache needs it", "flash-attn", ["on", "off"])
    cores = machine.cores if machine is not None else None
    if cores and cores > 2:
        yield Vary("threads", "decoding waits for memory: fewer threads may do", "threads", [cores, cores // 2])


def _sglang_dimensions(model: ModelFacts | None, machine: MachineFacts | None) -> Iterator[Vary]:
    chips = {sm_of(gpu.compute_capability) // 10 for gpu in (machine.gpus or () if machine is not None else ())}
    fp4 = model is not None and any("fp4" in group.format for group in model.tensors)
    if model is not None and model.experts is not None:
        backends: list[ArgValue] = ["auto", "triton"] if not fp4 else ["flashinfer_cutlass"]
        backends += ["flashinfer_trtllm"] if chips == {10} else []
        if len(backends) > 1:
            yield Vary("moe", "most of a decode step's bytes are experts", "moe-runner-backend", backends)
    dense_fp4 = model is not None and any(
        "fp4" in group.format and group.role != "routed_expert" for group in model.tensors
    )
    if dense_fp4:
        yield Vary("fp4", "dense FP4 matrices", "fp4-gemm-backend", ["flashinfer_cudnn", "flashinfer_cutlass"])
    attention: list[ArgValue] = ["triton", "flashinfer", *(["fa3"] if chips == {9} else [])]
    yield Vary("attention", "kernels differ by chip and by context length", "attention-backend", attention)
    yield Vary("kv", "half the cache bytes; costs accuracy", "kv-cache-dtype", ["bf16", "fp8_e4m3"])


def _vllm_dimensions(model: ModelFacts | None) -> Iterator[Vary]:
    if model is not None and model.experts is not None:
        yield Vary("moe", "most of a decode step's bytes are experts", "moe-backend", ["auto", "triton"])
    yield Vary("kv", "half the cache bytes; costs accuracy", "kv-cache-dtype", ["auto", "fp8"])
    yield Vary("batch", "prefill shares steps with decoding", "max-num-batched-tokens", [8192, 16384])


def _speculation(kind: EngineKind, model: ModelFacts | None) -> Iterator[Vary]:
    heads = model is not None and model.draft is not None and model.draft.present > 0
    why = "several tokens a step where drafts are accepted; the counters will say how many"
    if kind is EngineKind.SGLANG and heads:
        yield Vary("speculation", why, options=[("off", {}), ("mtp", {"speculative-algorithm": "NEXTN"})])
    elif kind is EngineKind.VLLM and heads:
        config = '{"method": "mtp", "num_speculative_tokens": 1}'
        yield Vary("speculation", why, options=[("off", {}), ("mtp", {"speculative-config": config})])
    elif kind is EngineKind.LLAMA_CPP:
        yield Vary("speculation", why, "spec-type", ["none", "ngram-simple"])


def _from_today(vary: Vary, args: Mapping[str, ArgValue]) -> Vary:
    """Begin a dimension with what the line says today, so that the reference is today's line."""
    if vary.arg is None:
        return vary
    if vary.arg in args:
        others = [value for value in vary.values if value != args[vary.arg]]
        return Vary(vary.name, vary.why, vary.arg, [args[vary.arg], *others])
    changed = [(str(value), {vary.arg: value}) for value in vary.values]
    return Vary(vary.name, vary.why, options=[("today", {}), *changed])


def _dimension(vary: Vary) -> str:
    lines = [f"[[vary]]   # {vary.why}", f"name = {_toml(vary.name)}"]
    if vary.arg is not None:
        return "\n".join([*lines, f"arg = {_toml(vary.arg)}", f"values = {_toml(list(vary.values))}"]) + "\n"
    lines.append("options = [")
    for label, args in vary.options:
        inner = ", ".join(f"{_key(name)} = {_toml(value)}" for name, value in args.items())
        lines.append(f"  {{ label = {_toml(label)}" + (f", args = {{ {inner} }}" if inner else "") + " },")
    return "\n".join([*lines, "]"]) + "\n"


def _workloads(model: ModelFacts | None) -> Iterator[str]:
    yield """\
[[workload]]
name = "chat"
prompts = "text"            # or random-tokens, sharegpt:FILE, jsonl:FILE, trace:FILE: your own traffic is best
input_tokens = 1000
output_tokens = 500
concurrency = [1, 4, 16]
"""
    if model is not None and (model.context_tokens or 0) > _LONG_CONTEXT:
        yield """\
# [[workload]]              # this model takes long contexts: measure them if you serve them
# name = "long"
# prompts = "text"
# input_tokens = 30000
# output_tokens = 500
# concurrency = [1, 4]
"""


def _rest(dimensions: Sequence[Vary]) -> str:
    lossy = any(vary.name == "kv" for vary in dimensions)
    gate = (
        'accuracy = { reference = "baseline", max_kl = 0.05 }   # a quantised cache must stay this near the reference'
    )
    return f"""\
[gates]
level = "standard"          # quick, standard, thorough
{gate if lossy else "# " + gate}

[decide]
margin = 0.02               # equal within 2 %
confidence = 0.95
launches = 2                # two servers of each contender: launches differ too
repeats = 3

# [slo]                     # with objective = "goodput"
# ttft_p99 = "2s"
# tpot_p99 = "50ms"
"""


_TOOL_MARKERS = (
    ("<function=", "qwen3_coder"),
    ("<arg_key>", "glm45"),
    ("<|tool_calls_section_begin|>", "kimi_k2"),
    ("<tool_call>", "qwen25"),
    ("<|python_tag|>", "llama3"),
    ("[TOOL_CALLS]", "mistral"),
)
_VLLM_TOOL_NAMES = {"qwen25": "hermes", "llama3": "llama3_json"}


def _parsers(kind: EngineKind, model: ModelFacts | None) -> dict[str, ArgValue]:
    """Reasoning and tool-call parsers whose format the chat template shows; none where it is not plain."""
    if model is None or kind not in (EngineKind.SGLANG, EngineKind.VLLM):
        return {}
    markers = set(model.chat_markers)
    proposed: dict[str, ArgValue] = {}
    if "<think>" in markers and "qwen" in model.model_type:
        proposed["reasoning-parser"] = "qwen3"
    elif "<think>" in markers and "glm" in model.model_type:
        proposed["reasoning-parser"] = "glm45"
    elif "<think>" in markers and "deepseek" in model.model_type:
        proposed["reasoning-parser"] = "deepseek-r1" if kind is EngineKind.SGLANG else "deepseek_r1"
    tool = next((parser for marker, parser in _TOOL_MARKERS if marker in markers), None)
    if tool is not None and kind is EngineKind.VLLM:
        proposed |= {"enable-auto-tool-choice": True, "tool-call-parser": _VLLM_TOOL_NAMES.get(tool, tool)}
    elif tool is not None:
        proposed["tool-call-parser"] = tool
    return proposed


def _key(name: str) -> str:
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else _toml(name)


def _toml(value: ArgValue | Sequence[ArgValue]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t") + '"'
    return "[" + ", ".join(_toml(item) for item in value) + "]"
