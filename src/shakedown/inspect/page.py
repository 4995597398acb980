"""Facts about model, machine and engine as a page for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.facts import EngineFacts, GpuFacts, MachineFacts, ModelFacts
from shakedown.domain.units import format_bytes


def model_text(model: ModelFacts) -> str:
    """What a checkpoint is."""
    return "\n".join(["Model", *(f"  {line}" for line in _model(model))])


def _model(model: ModelFacts) -> Iterator[str]:
    yield f"{model.path} ({model.format}, {model.architecture})"
    if model.parameters is not None:
        active = f", {model.active_parameters / 1e9:.2f} B active" if model.experts and model.active_parameters else ""
        size = f", {format_bytes(model.weight_bytes)}" if model.weight_bytes else ""
        yield f"{model.parameters / 1e9:.2f} B parameters{active}{size}"
    yield f"{model.layers} layers, hidden size {model.hidden_size:,}, vocabulary {model.vocab_size:,}"
    yield from _attention(model)
    if model.experts is not None:
        shared = f" and {model.experts.shared} shared" if model.experts.shared else ""
        experts = model.experts
        yield f"{experts.count} experts, {experts.per_token} a token{shared}, in {experts.layers} layers"
    if model.context_tokens:
        yield f"context {model.context_tokens:,} tokens"
    if model.quantization is not None:
        asked = f", asks for an {model.quantization.kv_cache} KV cache" if model.quantization.kv_cache else ""
        yield f"quantised with {model.quantization.method}: {model.quantization.algorithm or 'unnamed'}{asked}"
    for group in model.tensors:
        yield f"  {group.role:<16} {group.format:<10} {group.parameters / 1e9:>9.3f} B  {format_bytes(group.bytes):>10}"
    if model.draft is not None and (model.draft.promised or model.draft.present):
        kind = f" in {model.draft.format.upper()}" if model.draft.format else ""
        yield f"draft heads: {model.draft.promised} promised, {model.draft.present} in the tensors{kind}"
    if model.kv_scales is not None and (model.kv_scales.key or (model.quantization and model.quantization.kv_cache)):
        scales = model.kv_scales
        yield f"KV scales: {scales.key} of keys, {scales.value} of values, for {scales.expected} attention layers"
    for note in model.notes:
        yield f"note: {note.summary}"


def _attention(model: ModelFacts) -> Iterator[str]:
    kind = "latent attention" if model.mla else f"{model.heads} heads, {model.kv_heads} of keys and values"
    yield f"{model.attention_layers} attention layers ({kind}, head width {model.head_dim})"
    if model.sliding_layers:
        yield f"{model.sliding_layers} of them in a window of {model.sliding_window:,} tokens"
    if model.linear is not None:
        linear = model.linear
        yield f"{linear.layers} recurrent layers ({linear.value_heads} heads, {linear.state_dtype} states)"


def machine_text(machine: MachineFacts) -> str:
    """What a machine is."""
    return "\n".join(["Machine", *(f"  {line}" for line in _machine(machine))])


def _machine(machine: MachineFacts) -> Iterator[str]:
    cores = f", {machine.cores} cores" if machine.cores else ""
    threads = f", {machine.threads} threads" if machine.threads else ""
    yield f"{machine.cpu or 'unknown CPU'}{cores}{threads}"
    if machine.memory_total_bytes is not None:
        shm = f", /dev/shm {format_bytes(machine.shm_total_bytes)}" if machine.shm_total_bytes is not None else ""
        yield f"{format_bytes(machine.memory_total_bytes)} memory{shm}"
    if machine.gpus is None:
        yield f"GPUs unknown: {machine.gpus_unknown_because or 'not looked at'}"
    elif not machine.gpus:
        yield "no GPU"
    for gpu in machine.gpus or ():
        yield _gpu(gpu)
    for path in sorted({link.path for link in machine.links or ()}):
        pairs = [link for link in machine.links or () if link.path == path]
        yield f"{len(pairs)} GPU pairs over {path}"
    tools = {"driver": machine.driver, "CUDA": machine.cuda_driver, "CUDA_HOME": machine.cuda_home,
             "nvcc": machine.nvcc, "ninja": machine.ninja, "IOMMU": machine.iommu}  # fmt: skip
    known = ", ".join(f"{name} {value}" for name, value in tools.items() if value)
    if known:
        yield known
    for note in machine.notes:
        yield f"note: {note.summary}"


def _gpu(gpu: GpuFacts) -> str:
    free = f" ({format_bytes(gpu.memory_free_bytes)} free)" if gpu.memory_free_bytes is not None else ""
    pcie = f", PCIe {gpu.pcie_generation_max} x{gpu.pcie_width_max}" if gpu.pcie_generation_max else ""
    power = f", {gpu.power_limit_w:.0f} W" if gpu.power_limit_w else ""
    sm = gpu.compute_capability.replace(".", "")
    busy = f", held by {len(gpu.processes)} processes" if gpu.processes else ""
    return f"GPU {gpu.index}: {gpu.name}, SM{sm}, {format_bytes(gpu.memory_total_bytes)}{free}{pcie}{power}{busy}"


def engine_text(engine: EngineFacts) -> str:
    """What an engine installation is."""
    return "\n".join(["Engine", *(f"  {line}" for line in _engine(engine))])


def _engine(engine: EngineFacts) -> Iterator[str]:
    where = " ".join(engine.command) if engine.command else engine.python or "not found"
    yield f"{engine.kind} {engine.version or '(version unknown)'} at {where}"
    if engine.packages:
        yield ", ".join(f"{name} {version}" for name, version in engine.packages.items())
    yield "flags unknown" if engine.flags is None else f"{len(engine.flags)} flags"
    for library, archs in (engine.kernel_archs or {}).items():
        yield f"{library} holds code for {', '.join(archs)}"
    for note in engine.notes:
        yield f"note: {note.summary}"
