"""The hardware's ceiling: output tokens per second that no configuration of this shape can exceed. No prediction.

A decode step must read every weight it uses once, every cached key and value and every recurrent state of the running
requests; it must do the arithmetic, launch its dependent kernels one after another and pay its all-reduces. Each term
is taken at its least, so the sum bounds the step time from below and the throughput from above.

- Experts: a step of T tokens touches ``E * (1 - (1 - k / E) ** T)`` of E routed experts when each token picks k of them
  at random (expected value; routing in practice is more concentrated or less, by layer).
- All-reduces: two a layer where tensor parallelism is used (attention out, feed-forward down).
- Speculation of k drafted tokens verifies ``T = B * (k + 1)`` tokens a step and yields at most ``k + 1`` for each
  request; the break-even accept length is the speculative step's time over the plain one's (Leviathan et al., arXiv
  2211.17192, with the verification's own cost in place of their assumption that it is free).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from shakedown.domain.base import Value
from shakedown.domain.facts import LaunchShape, MachineFacts, ModelFacts, TensorGroup
from shakedown.plan.capacity import kv_bytes_per_token, state_bytes_per_request
from shakedown.plan.hardware import AllReducePath, Chip, all_reduce_paths, chip_of, link_class

READABLE_SHARE = 0.94
"""Of the published memory bandwidth, what a kernel that only reads has reached: 4.48 of 4.8 TB/s over 16 GiB, measured
on one H200 (torch 2.11, CUDA 13.0)."""
KERNEL_S = 0.9e-6
"""Least time from one dependent kernel to the next inside a CUDA graph: 2,000 element-wise kernels over 256 numbers,
measured on one H200 (torch 2.11, CUDA 13.0)."""
_KERNELS = {"attention": 5, "linear": 6, "dense": 3, "experts": 6}
"""Dependent kernels of a part, generously fused: norm, projections in, rotary and cache, attention, projection out;
norm, projections in, convolution, recurrence, gated norm, projection out; norm, gate-up with activation, down; norm,
router, routing, gate-up with activation, down, combine."""
_STEP_KERNELS = 6
"""Embedding, last norm, output matrix, sampling."""


class SpeculationCeiling(Value):
    """How drafting shifts the ceiling."""

    draft_tokens: int
    step_s: float
    break_even_accept_length: float
    """Accept length below which drafting cannot pay, if both steps ran at their bound."""
    output_tokens_per_s: float
    """With every draft accepted."""


class CeilingPoint(Value):
    """The bound at one concurrency."""

    concurrency: int
    output_tokens_per_s: float
    step_s: float
    weights_bytes: int
    """Read by each GPU in a step."""
    cache_bytes: int
    experts_touched: float | None
    all_reduce_s: float
    reading_s: float | None = None
    """Of the step: reading weights, caches and states once."""
    speculation: SpeculationCeiling | None = None


class AllReduces(Value):
    """The all-reduces of a decode step, and what each way of doing them costs."""

    count: int
    bytes_each: int
    """At one running request."""
    link: str
    costs: tuple[tuple[str, float], ...]
    """Way to do it, and its seconds per decode step."""
    sources: tuple[str, ...]


class Ceiling(Value):
    """What one launch shape could reach at best on these chips."""

    candidates: tuple[str, ...] = ()
    points: tuple[CeilingPoint, ...]
    all_reduces: AllReduces | None = None
    assumptions: tuple[str, ...] = Field(default=())


@dataclass(frozen=True, slots=True)
class _Step:
    """One forward pass of so many tokens for so many requests."""

    seconds: float
    weights_bytes: float
    cache_bytes: float
    experts: float | None
    all_reduce_s: float
    reading_s: float


def ceiling_of(
    model: ModelFacts, shape: LaunchShape, machine: MachineFacts | None, concurrency: Sequence[int], context_tokens: int
) -> Ceiling | None:
    """Bound the decode throughput at each concurrency; None where weights or chips are not known.

    Args:
        model: the checkpoint.
        shape: the launch.
        machine: where it runs.
        concurrency: running requests, all replicas together.
        context_tokens: mean tokens in a request's cache while it decodes.
    """
    gpus = (machine.gpus or ())[: shape.gpus] if machine is not None else ()
    chip = chip_of(gpus[0]) if gpus and shape.on_gpu else None
    if machine is None or chip is None or not model.tensors:
        return None
    bandwidth = min(gpu.memory_bandwidth_bytes_per_s or chip.memory_bandwidth for gpu in gpus)
    bound = _Bound(model, shape, chip, bandwidth * READABLE_SHARE, context_tokens, machine)
    assumptions = (
        f"{bandwidth / 1e12:g} TB/s published ({chip.source}), {READABLE_SHARE:.0%} of it reached by reading",
        f"{bound.kernels} dependent kernels a step at {KERNEL_S * 1e6:g} us each at least",
        f"{context_tokens:,} tokens of context in each request, experts chosen at random",
    )
    return Ceiling(
        points=tuple(bound.point(requests) for requests in concurrency),
        all_reduces=bound.all_reduces(),
        assumptions=assumptions,
    )


@dataclass(frozen=True, slots=True)
class _Bound:
    model: ModelFacts
    shape: LaunchShape
    chip: Chip
    bandwidth: float
    context_tokens: int
    machine: MachineFacts

    def point(self, concurrency: int) -> CeilingPoint:
        """Bound one concurrency; replicas share it."""
        replicas = 1 if self.shape.data_parallel_attention else self.shape.data_parallel
        requests = -(-concurrency // replicas)
        plain = self._step(requests, 1)
        drafted = self.shape.draft_tokens
        return CeilingPoint(
            concurrency=concurrency,
            output_tokens_per_s=concurrency / plain.seconds,
            step_s=plain.seconds,
            weights_bytes=round(plain.weights_bytes),
            cache_bytes=round(plain.cache_bytes),
            experts_touched=plain.experts,
            all_reduce_s=plain.all_reduce_s,
            reading_s=plain.reading_s,
            speculation=self._speculation(concurrency, requests, plain) if drafted else None,
        )

    def _speculation(self, concurrency: int, requests: int, plain: _Step) -> SpeculationCeiling:
        drafted = self.shape.draft_tokens
        seconds = self._step(requests, drafted + 1).seconds + drafted * self._draft_s()
        return SpeculationCeiling(
            draft_tokens=drafted,
            step_s=seconds,
            break_even_accept_length=seconds / plain.seconds,
            output_tokens_per_s=concurrency * (drafted + 1) / seconds,
        )

    def _step(self, requests: int, tokens_each: int) -> _Step:
        tokens = requests * tokens_each
        experts = self.model.experts
        touched = experts.count * (1 - (1 - experts.per_token / experts.count) ** tokens) if experts else None
        weights = sum(self._read(group, touched) for group in self.model.tensors)
        cache = requests * self._cache_bytes()
        compute = 2 * (self.model.active_parameters or 0) * tokens / (self.shape.tensor_parallel * self._flops())
        reduce_s = self._all_reduce_count() * self._fastest_path_s()
        # Pipeline stages work one after another on a step of one batch: their reads add up.
        stages = self.shape.pipeline_parallel
        reading = stages * (weights + cache) / self.bandwidth
        seconds = max(reading, compute) + self.kernels * KERNEL_S + reduce_s
        return _Step(seconds, weights, cache, touched, reduce_s, reading)

    def _read(self, group: TensorGroup, touched: float | None) -> float:
        """Bytes of a group that one GPU reads in a step."""
        if group.role in ("embedding", "vision", "mtp", "norm") and not self._is_output(group):
            return 0
        share = 1.0
        if group.role == "routed_expert" and touched is not None and self.model.experts is not None:
            share = touched / self.model.experts.count
        return group.bytes * share / (self.shape.tensor_parallel * self.shape.pipeline_parallel)

    def _is_output(self, group: TensorGroup) -> bool:
        return group.role == "embedding" and self.model.tied_embeddings

    def _cache_bytes(self) -> float:
        """Keys, values and states of one request that one GPU reads; states are written back too."""
        model, shape = self.model, self.shape
        window = model.sliding_window or 0
        kept = kv_bytes_per_token(model, shape) * self.context_tokens
        if window:
            sliding = kv_bytes_per_token(model, shape, layers=model.sliding_layers)
            kept += sliding * min(window, self.context_tokens)
        return kept + 2 * state_bytes_per_request(model, shape)

    def _flops(self) -> float:
        """The fastest arithmetic the chip has that the weights' formats could use."""
        formats = {group.format for group in self.model.tensors}
        narrow = (
            "fp4" if any("fp4" in name for name in formats) else "fp8" if any("fp8" in name for name in formats) else ""
        )
        return self.chip.flops.get(narrow) or max(
            self.chip.flops["bf16"], self.chip.flops.get("fp8", 0.0) * bool(narrow)
        )

    @property
    def kernels(self) -> int:
        """Dependent kernels of a step."""
        model = self.model
        routed = model.experts.layers if model.experts else 0
        linear = model.linear.layers if model.linear else 0
        return (
            model.attention_layers * _KERNELS["attention"]
            + linear * _KERNELS["linear"]
            + (model.layers - routed) * _KERNELS["dense"]
            + routed * _KERNELS["experts"]
            + _STEP_KERNELS
        )

    def _draft_s(self) -> float:
        """One drafted token: a pass through the draft heads and the output matrix; n-grams draft for nothing."""
        if not self.shape.draft_heads:
            return 0.0
        experts = self.model.experts
        share = experts.per_token / experts.count if experts else 1.0
        read = 0.0
        for group in self.model.tensors:
            if group.role == "mtp":
                # Its experts dominate a draft head of a mixture; only those chosen are read.
                read += group.bytes * share
            elif group.role == "lm_head":
                read += group.bytes
        kernels = _KERNELS["attention"] + _KERNELS["experts" if experts else "dense"] + 2
        reduce_s = 2 * self._fastest_path_s() if self.shape.tensor_parallel > 1 else 0.0
        return read / self.shape.tensor_parallel / self.bandwidth + kernels * KERNEL_S + reduce_s

    def _all_reduce_count(self) -> int:
        return 2 * self.model.layers if self.shape.tensor_parallel > 1 else 0

    def _paths(self) -> list[AllReducePath]:
        link = link_class(self.machine)
        return [path for path in all_reduce_paths() if path.link == link]

    def _fastest_path_s(self) -> float:
        return min(path.seconds for path in self._paths() if path.fastest)

    def all_reduces(self) -> AllReduces | None:
        """Count and price them."""
        count = self._all_reduce_count()
        if not count:
            return None
        paths = self._paths()
        return AllReduces(
            count=count,
            bytes_each=2 * self.model.hidden_size,
            link=link_class(self.machine),
            costs=tuple((f"{path.name}, {path.gpus} GPUs", count * path.seconds) for path in paths),
            sources=tuple(dict.fromkeys(path.source for path in paths)),
        )
