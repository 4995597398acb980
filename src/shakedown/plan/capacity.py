"""How much fits: weights, KV cache, recurrent states, per GPU and per KV type; the arithmetic is in the answer.

Formulas. With L attention layers, H_kv key-value heads of width d, tensor parallelism T and b bytes an element:

- grouped-query attention keeps ``L * 2 * max(1, H_kv / T) * d * b`` bytes per token on each GPU: a head that cannot be
  divided is kept on every GPU that needs it;
- multi-head latent attention keeps ``L * (kv_lora_rank + rope_dim) * b``, whole on every GPU;
- a sliding layer keeps at most its window;
- a recurrent layer keeps for each request its convolution's last inputs, ``(K - 1)`` of ``2 * H_k * d_k + H_v * d_v``
  channels in 16 bits, and one ``d_k`` by ``d_v`` state for each value head (``mamba_utils.py`` in SGLang).
"""

from __future__ import annotations

from pydantic import Field

from shakedown.domain.base import Value
from shakedown.domain.facts import GpuFacts, LaunchShape, MachineFacts, ModelFacts
from shakedown.domain.units import format_bytes

_BITS = {
    "f32": 32, "float32": 32, "bf16": 16, "bfloat16": 16, "f16": 16, "float16": 16, "half": 16,
    "fp8": 8, "fp8_e4m3": 8, "fp8_e5m2": 8, "fp8_inc": 8, "q8_0": 8.5, "q5_1": 6, "q5_0": 5.5, "q4_1": 5, "q4_0": 4.5,
    "iq4_nl": 4.5, "mxfp8": 8.25, "nvfp4": 4.5, "fp4_e2m1": 4.25, "fp4_mx_block16": 4.5,
}  # fmt: skip
"""Bits of a cached element, block scales included."""
_DEFAULT_FRACTION = 0.9
"""Share of a GPU's memory for weights and caches where the engine chooses: between SGLang's 0.84 to 0.90 (observed on
H200) and vLLM's 0.92."""


_CONTEXT_BYTES = round(1.3 * 2**30)
"""What a GPU has less than its memory before weights are loaded: driver and CUDA context. SGLang's log says 139.09 of
140.40 GiB on an H200 under driver 580 (docs/results)."""


class Capacity(Value):
    """What one launch shape holds. All bytes are those of one GPU."""

    candidates: tuple[str, ...] = ()
    """Ids of the candidates that share it."""
    kv_dtype: str
    gpus: int
    weights_bytes: int | None
    kv_bytes_per_token: int
    """Of the layers that keep every token."""
    window_bytes_per_request: int = 0
    """Of the sliding layers, which keep no more."""
    state_bytes_per_request: int = 0
    """One recurrent state; a running request may occupy several slots."""
    state_slots_per_request: int = 1
    memory_bytes: int | None = None
    """Memory of one GPU, or of the machine where the model runs on the CPU."""
    usable_bytes: int | None = None
    """What weights and caches may take of it."""
    kv_tokens: int | None = None
    """Tokens that fit, all requests together."""
    state_slots: int | None = None
    longest_context: int | None = None
    requests_at_once: int | None = None
    """Of the campaign's longest request."""
    fits: bool | None = None
    """None where the machine's memory is not known."""
    arithmetic: tuple[str, ...] = Field(default=())
    assumptions: tuple[str, ...] = Field(default=())


def kv_bits(dtype: str, model: ModelFacts) -> float:
    """Bits of one cached element; ``auto`` is the model's own type, or FP8 where the checkpoint asks for it."""
    if dtype == "auto":
        asked = model.quantization.kv_cache if model.quantization else None
        dtype = "fp8" if asked == "FP8" else model.dtype or "bfloat16"
    return _BITS.get(dtype.lower(), 16)


def kv_bytes_per_token(model: ModelFacts, shape: LaunchShape, *, layers: int | None = None) -> int:
    """KV cache bytes of one token on one GPU, over ``layers`` (those that keep every token, unless given)."""
    keeping = model.attention_layers - (model.sliding_layers if model.sliding_window else 0)
    count = keeping if layers is None else layers
    count += model.draft.present if shape.draft_heads and model.draft and layers is None else 0
    count = -(-count // shape.pipeline_parallel)
    key_bits = kv_bits(shape.kv_dtype, model)
    if model.mla is not None:
        return round(count * (model.mla.kv_lora_rank + model.mla.rope_head_dim) * key_bits / 8)
    divisor = shape.tensor_parallel
    if shape.data_parallel_attention:
        divisor = max(1, divisor // shape.data_parallel)
    heads = max(1, model.kv_heads // divisor)
    value_bits = kv_bits(shape.value_dtype, model) if shape.value_dtype else key_bits
    return round(
        count * heads * (model.head_dim * key_bits + (model.value_head_dim or model.head_dim) * value_bits) / 8
    )


def state_bytes_per_request(model: ModelFacts, shape: LaunchShape) -> int:
    """Bytes of one request's recurrent state on one GPU."""
    linear = model.linear
    if linear is None:
        return 0
    channels = 2 * linear.key_heads * linear.key_head_dim + linear.value_heads * linear.value_head_dim
    convolution = channels * (linear.conv_kernel - 1) * 2
    cells = linear.value_heads * linear.key_head_dim * linear.value_head_dim
    state = cells * _BITS.get(shape.state_dtype or linear.state_dtype, 32) / 8
    return round(linear.layers * (convolution + state) / (shape.tensor_parallel * shape.pipeline_parallel))


def weights_bytes(model: ModelFacts, shape: LaunchShape) -> int | None:
    """Weight bytes of one GPU; draft heads only where they draft. None where the tensors are not known."""
    if model.weight_bytes is None:
        return None
    drafts = 0 if shape.draft_heads else sum(group.bytes for group in model.tensors if group.role == "mtp")
    return round((model.weight_bytes - drafts) / (shape.tensor_parallel * shape.pipeline_parallel))


def capacity_of(
    model: ModelFacts, shape: LaunchShape, machine: MachineFacts | None, *, request_tokens: int | None = None
) -> Capacity:
    """Work out what fits; without a machine only what does not depend on one.

    Args:
        model: the checkpoint.
        shape: the launch.
        machine: where it runs.
        request_tokens: tokens of the campaign's longest request, input and output.
    """
    window = model.sliding_window or 0
    sliding = kv_bytes_per_token(model, shape, layers=model.sliding_layers) * window if window else 0
    known = Capacity(
        kv_dtype=shape.kv_dtype if shape.value_dtype is None else f"{shape.kv_dtype}/{shape.value_dtype}",
        gpus=shape.gpus,
        weights_bytes=weights_bytes(model, shape),
        kv_bytes_per_token=kv_bytes_per_token(model, shape),
        window_bytes_per_request=sliding,
        state_bytes_per_request=state_bytes_per_request(model, shape),
        state_slots_per_request=shape.state_slots_per_request,
    )
    memory = _memory(shape, machine)
    if memory is None or known.weights_bytes is None:
        return known
    return _filled(known, model, shape, memory, request_tokens)


def _memory(shape: LaunchShape, machine: MachineFacts | None) -> int | None:
    if machine is None:
        return None
    if not shape.on_gpu:
        return machine.memory_total_bytes
    return min((gpu.memory_total_bytes for gpu in _used(shape, machine.gpus)), default=None)


def _used(shape: LaunchShape, gpus: tuple[GpuFacts, ...] | None) -> tuple[GpuFacts, ...]:
    return (gpus or ())[: shape.gpus]


def _filled(
    known: Capacity, model: ModelFacts, shape: LaunchShape, memory: int, request_tokens: int | None
) -> Capacity:
    assert known.weights_bytes is not None
    fraction = shape.memory_fraction or (_DEFAULT_FRACTION if shape.on_gpu else 1.0)
    usable = round(memory * fraction)
    context = _CONTEXT_BYTES if shape.on_gpu else 0
    free = usable - context - known.weights_bytes
    weights, left = format_bytes(known.weights_bytes), format_bytes(free)
    taken = f"{weights} weights - {format_bytes(context)} CUDA context" if context else f"{weights} weights"
    lines = [f"{format_bytes(usable)} usable ({fraction:.3g} of {format_bytes(memory)}) - {taken} = {left}"]
    assumptions = [] if shape.memory_fraction or not shape.on_gpu else [f"the engine takes {fraction:g} of the memory"]
    if free <= 0:
        return _with(known, memory=memory, usable=usable, fits=False, lines=lines, assumptions=assumptions)
    for_states, for_kv = _divide(free, known, shape, lines, assumptions)
    slots = for_states // known.state_bytes_per_request if known.state_bytes_per_request else None
    by_state = slots // known.state_slots_per_request if slots is not None else None
    for_kv -= known.window_bytes_per_request * (shape.max_requests or 1)
    tokens = max(for_kv, 0) // known.kv_bytes_per_token if known.kv_bytes_per_token else None
    if shape.kv_tokens is not None and tokens is not None:
        needed = shape.kv_tokens * known.kv_bytes_per_token
        lines.append(f"{shape.kv_tokens:,} tokens x {known.kv_bytes_per_token:,} B = {format_bytes(needed)} allocated")
        fits = needed <= for_kv
        tokens = shape.kv_tokens
    else:
        fits = tokens is None or tokens > 0
        if tokens is not None:
            lines.append(f"{format_bytes(for_kv)} / {known.kv_bytes_per_token:,} B a token = {tokens:,} tokens")
    limits = [limit for limit in (shape.context_tokens or model.context_tokens, tokens) if limit is not None]
    return _with(
        known, memory=memory, usable=usable, fits=fits, lines=lines, assumptions=assumptions, kv_tokens=tokens,
        state_slots=slots, longest_context=min(limits, default=None),
        requests_at_once=_requests(tokens, by_state, shape, request_tokens),
    )  # fmt: skip


def _divide(
    free: int, known: Capacity, shape: LaunchShape, lines: list[str], assumptions: list[str]
) -> tuple[int, int]:
    """Memory for recurrent states, and for keys and values."""
    if not known.state_bytes_per_request:
        return 0, free
    if shape.state_to_kv_ratio is None:
        requests = shape.max_requests or 1
        states = min(free, requests * known.state_slots_per_request * known.state_bytes_per_request)
        assumptions.append(f"states of {requests} requests are set aside")
        return states, free - states
    states = round(free * shape.state_to_kv_ratio / (1 + shape.state_to_kv_ratio))
    lines.append(
        f"recurrent states take {shape.state_to_kv_ratio:g} for every 1 of KV cache: {format_bytes(states)}, "
        f"{states // known.state_bytes_per_request:,} states of {known.state_bytes_per_request:,} B"
    )
    return states, free - states


def _requests(tokens: int | None, by_state: int | None, shape: LaunchShape, request_tokens: int | None) -> int | None:
    by_tokens = tokens // request_tokens if tokens is not None and request_tokens else None
    limits = [limit for limit in (by_tokens, by_state, shape.max_requests) if limit is not None]
    return min(limits, default=None)


def _with(
    known: Capacity, *, memory: int, usable: int, fits: bool, lines: list[str], assumptions: list[str], **more: object
) -> Capacity:
    return known.model_copy(
        update={
            "memory_bytes": memory,
            "usable_bytes": usable,
            "fits": fits,
            "arithmetic": tuple(lines),
            "assumptions": tuple(assumptions),
            **more,
        }
    )
