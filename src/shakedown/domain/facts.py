"""Facts about a model, a machine and an engine installation: what ``inspect`` finds and ``plan`` reasons from.

What could not be seen is ``None`` and never 0 or an empty list: a machine whose ``gpus`` is None may have any, one
whose ``gpus`` is empty has none. Bytes are bytes, not GiB.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from shakedown.domain.base import ArgValue, Value
from shakedown.domain.candidate import EngineRef
from shakedown.domain.words import EngineKind

Role = Literal[
    "embedding",
    "lm_head",
    "attention",
    "linear_attention",
    "dense_mlp",
    "shared_expert",
    "routed_expert",
    "router",
    "norm",
    "mtp",
    "vision",
    "other",
]
"""What a tensor does in the network."""


class FactNote(Value):
    """Something worth knowing that was found on the way: a disagreement, a missing part, a risk."""

    kind: str
    """A stable word: ``kv_scales_missing``, ``mtp_promised_but_absent``, ``config_disagrees``, …"""
    summary: str


class TensorGroup(Value):
    """All tensors of one role stored in one format."""

    role: Role
    format: str
    """bf16, f16, f32, fp8, fp8_block, nvfp4, mxfp4, int4_awq, int4_gptq, int4_packed, int8 or a GGUF type (q4_1)."""
    tensors: int = Field(ge=0)
    parameters: int = Field(ge=0)
    """Weights they hold, packed ones unpacked; scales and zero points are not parameters."""
    bytes: int = Field(ge=0)
    """On disk, scales and zero points included."""


class LinearAttention(Value):
    """Recurrent (gated delta net, Mamba 2) layers: what one request's state is made of."""

    layers: int
    key_heads: int
    value_heads: int
    key_head_dim: int
    value_head_dim: int
    conv_kernel: int
    state_dtype: str = "float32"


class MultiheadLatentAttention(Value):
    """DeepSeek's attention over a compressed KV cache."""

    kv_lora_rank: int
    rope_head_dim: int


class Experts(Value):
    """A mixture of experts."""

    layers: int
    """Layers that route."""
    count: int
    """Routed experts of a layer."""
    per_token: int
    shared: int = 0
    intermediate_size: int | None = None


class Quantization(Value):
    """What the checkpoint's config says of its quantisation."""

    method: str
    """modelopt, fp8, compressed-tensors, awq, gptq, mxfp4, gguf, …"""
    algorithm: str | None = None
    """NVFP4, FP8, W4A16, Q4_1, …"""
    kv_cache: str | None = None
    """KV cache quantisation that the checkpoint asks for, as it says it (``FP8``)."""
    group_size: int | None = None
    block: tuple[int, ...] | None = None
    scale_format: str | None = None
    """``ue8m0`` where block scales are powers of two."""
    excluded: tuple[str, ...] = ()


class KvScales(Value):
    """KV cache scales in the tensors, against the attention layers that should have them."""

    expected: int
    key: int
    value: int


class DraftHeads(Value):
    """Multi-token-prediction layers: what the config promises and what the tensors hold."""

    promised: int
    present: int
    format: str | None = None
    """Format of their matrices; None when absent."""
    bytes: int = 0


class ModelFacts(Value):
    """A checkpoint, read from configuration and tensor headers alone."""

    path: str
    format: Literal["safetensors", "gguf"]
    architecture: str
    """First of ``architectures`` or GGUF's ``general.architecture``."""
    model_type: str
    parameters: int | None
    """All weights, vision and draft heads included; None where there are no tensors to count."""
    active_parameters: int | None
    """Weights a token passes through: the routed experts counted per token, embedding lookup and vision left out."""
    weight_bytes: int | None
    layers: int
    hidden_size: int
    attention_layers: int
    """Layers with a KV cache that grows with context."""
    sliding_layers: int = 0
    """Of ``attention_layers``, those that keep only ``sliding_window`` tokens."""
    sliding_window: int | None = None
    heads: int
    kv_heads: int
    head_dim: int
    value_head_dim: int | None = None
    """None: equal to ``head_dim``."""
    vocab_size: int
    context_tokens: int | None
    intermediate_size: int | None = None
    """Of the dense feed-forward; quantisation blocks must divide its share per GPU."""
    dtype: str | None = None
    """Type of unquantised weights, as the config says."""
    mla: MultiheadLatentAttention | None = None
    linear: LinearAttention | None = None
    experts: Experts | None = None
    quantization: Quantization | None = None
    tensors: tuple[TensorGroup, ...] = ()
    kv_scales: KvScales | None = None
    """None where nothing was read that could tell."""
    draft: DraftHeads | None = None
    multimodal: bool = False
    tied_embeddings: bool = False
    chat_markers: tuple[str, ...] = ()
    """Markers found in the chat template that tell reasoning and tool-call formats (``<think>``)."""
    notes: tuple[FactNote, ...] = ()


class GpuProcess(Value):
    """A process that holds GPU memory."""

    pid: int
    name: str | None = None
    memory_bytes: int | None = None


class GpuFacts(Value):
    """One GPU. ``compute_capability`` is ``12.0`` for SM120."""

    index: int = 0
    name: str
    compute_capability: str = Field(pattern=r"^\d+\.\d$")
    memory_total_bytes: int
    memory_free_bytes: int | None = None
    power_limit_w: float | None = None
    mig: bool | None = None
    processes: tuple[GpuProcess, ...] = ()
    pcie_generation: int | None = None
    """As running now; a GPU at rest may run lower than it can."""
    pcie_width: int | None = None
    pcie_generation_max: int | None = None
    pcie_width_max: int | None = None
    numa_node: int | None = None
    bus_id: str | None = None
    nvlinks: int | None = None
    """Active NVLink links; 0 where there are none."""
    memory_bandwidth_bytes_per_s: float | None = None
    """Given by hand in a machine file; else taken from the table of known chips."""


class GpuLink(Value):
    """How two GPUs (by index) reach each other."""

    a: int
    b: int
    path: Literal["nvlink", "switch", "bridge", "host", "node", "system"]
    """NVLink; one PCIe switch; several; the CPU's host bridge; across bridges of a NUMA node; across NUMA nodes."""
    peer_to_peer: bool | None = None


class MachineFacts(Value):
    """A machine. Written by ``inspect --json`` under ``machine``, read back from ``[machine] file``."""

    name: str = ""
    gpus: tuple[GpuFacts, ...] | None = None
    """None: could not be seen; empty: there are none."""
    gpus_unknown_because: str | None = None
    links: tuple[GpuLink, ...] | None = None
    cpu: str | None = None
    cores: int | None = None
    """Physical cores usable by this process."""
    threads: int | None = None
    numa_nodes: int | None = None
    memory_total_bytes: int | None = None
    memory_available_bytes: int | None = None
    shm_total_bytes: int | None = None
    shm_free_bytes: int | None = None
    iommu: str | None = None
    """``off``, ``passthrough`` or ``translated``: translation slows or breaks PCIe peer-to-peer."""
    driver: str | None = None
    cuda_driver: str | None = None
    """Newest CUDA that the driver serves."""
    cuda_home: str | None = None
    nvcc: str | None = None
    ninja: str | None = None
    os: str | None = None
    notes: tuple[FactNote, ...] = ()


class FlagFacts(Value):
    """One command-line flag of an installed engine; names without leading dashes."""

    name: str
    spellings: tuple[str, ...] = ()
    """Every spelling with its dashes, as the engine lists them."""
    choices: tuple[str, ...] | None = None
    """None: any value."""
    default: ArgValue | None = None
    takes_value: bool | None = None
    repeats: bool = False
    """Takes several values, separated by commas or repeated."""
    help: str = ""


class EngineFacts(Value):
    """An engine installation, as it answered."""

    kind: EngineKind
    version: str | None
    flags: dict[str, FlagFacts] | None = None
    """By first long spelling; None where the engine could not be asked."""
    flags_complete: bool = True
    """False where only a help text was read, which leaves hidden flags out."""
    python: str | None = None
    command: tuple[str, ...] | None = None
    packages: dict[str, str] = Field(default_factory=dict)
    """Versions of what changes its behaviour: torch, kernel libraries."""
    kernel_archs: dict[str, tuple[str, ...]] | None = None
    """Library to GPU architectures it holds machine code for (``sm_90a``); None where not looked at."""
    notes: tuple[FactNote, ...] = ()

    @property
    def ref(self) -> EngineRef:
        """The installation as a candidate names it, with the versions that are part of its identity."""
        versions = {**({self.kind.value: self.version} if self.version else {}), **self.packages}
        return EngineRef(kind=self.kind, python=self.python, command=self.command, versions=versions)


class LaunchShape(Value):
    """What a candidate's arguments mean for memory and speed, in one vocabulary for all engines.

    A value is None where the arguments leave it to the engine and its choice is not known beforehand.
    """

    tensor_parallel: int = Field(default=1, ge=1)
    pipeline_parallel: int = Field(default=1, ge=1)
    data_parallel: int = Field(default=1, ge=1)
    """Replicas, each with its own requests."""
    data_parallel_attention: bool = False
    """Attention of ``data_parallel`` groups inside one tensor-parallel group, which divides its heads further."""
    expert_parallel: bool = False
    kv_dtype: str = "auto"
    """Type of keys, and of values unless ``value_dtype`` says otherwise: auto, bf16, f16, fp8, nvfp4, q8_0, …"""
    value_dtype: str | None = None
    state_dtype: str | None = None
    """Type of recurrent states where an argument overrides the model's."""
    max_requests: int | None = None
    context_tokens: int | None = None
    kv_tokens: int | None = None
    """Tokens of KV cache that are allocated whatever fits (llama.cpp's context size)."""
    memory_fraction: float | None = None
    """Share of a GPU's memory that weights and caches may take together."""
    draft_tokens: int = 0
    """Tokens drafted a step; 0 without speculation."""
    draft_heads: bool = False
    """Drafts come from the model's own heads."""
    state_slots_per_request: int = 1
    """Recurrent states that one running request occupies."""
    state_to_kv_ratio: float | None = None
    """Memory of recurrent states over memory of the KV cache, where the engine divides it so."""
    on_gpu: bool = True

    @property
    def gpus(self) -> int:
        """GPUs that the launch takes."""
        if not self.on_gpu:
            return 0
        replicas = 1 if self.data_parallel_attention else self.data_parallel
        return self.tensor_parallel * self.pipeline_parallel * replicas


class EngineAnswer(Value):
    """What the engine's own argument object made of one candidate: its rejection, or its resolved values."""

    accepted: bool
    message: str | None = None
    """The engine's own words when it rejects."""
    resolved: dict[str, ArgValue | None] = Field(default_factory=dict)
    """Effective values by canonical argument name."""
    warnings: tuple[str, ...] = ()
