"""The facts that rules may speak of, as one flat table for one candidate.

A fact that cannot be known is left out of the table; ``FACTS`` lists them all with their meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shakedown.domain.base import ArgValue
from shakedown.domain.candidate import Candidate
from shakedown.domain.facts import EngineFacts, GpuFacts, LaunchShape, MachineFacts, ModelFacts
from shakedown.domain.workload import Workload

FACTS: Mapping[str, str] = {
    "model.architecture": "first of the config's architectures",
    "model.type": "model_type of the config",
    "model.format": "safetensors or gguf",
    "model.hybrid": "has recurrent (linear attention) layers beside attention",
    "model.mla": "multi-head latent attention",
    "model.moe": "mixture of experts",
    "model.experts": "routed experts of a layer",
    "model.heads": "query heads",
    "model.kv_heads": "key-value heads",
    "model.hidden_size": "width of the residual stream",
    "model.intermediate_size": "width of the dense feed-forward",
    "model.expert_intermediate_size": "width of a routed expert",
    "model.context_tokens": "longest context the config claims",
    "model.multimodal": "has a vision part",
    "model.quantization": "quantisation method of the config (modelopt, fp8, awq, ...), none without",
    "model.quantization_algorithm": "algorithm (NVFP4, FP8, ...), none without",
    "model.kv_cache_quantization": "KV cache quantisation that the checkpoint asks for, none without",
    "model.kv_scales": "complete, partial or absent in the tensors",
    "model.fp4": "any tensor is FP4",
    "model.fp4_outside_experts": "FP4 tensors other than routed experts: what a dense FP4 GEMM backend acts on",
    "model.draft_heads": "present in the tensors, promised by the config alone, or none",
    "model.draft_format": "number format of the draft heads' matrices",
    "machine.gpus": "number of GPUs",
    "machine.sm": "compute capability times ten of the GPUs (120 for SM120), where all are alike",
    "machine.sm_major": "major compute capability",
    "machine.nvlink": "every pair of GPUs is linked by NVLink",
    "machine.mig": "any GPU is split by MIG",
    "machine.threads": "CPU threads usable here",
    "machine.iommu": "off, passthrough or translated",
    "machine.nvcc": "version of nvcc, none where there is none",
    "machine.ninja": "version of ninja, none where there is none",
    "launch.gpus": "GPUs that the launch takes",
    "launch.tensor_parallel": "GPUs that share every layer",
    "launch.attention_parallel": "GPUs that share an attention layer (fewer under data-parallel attention)",
    "launch.on_gpu": "whether it runs on a GPU",
    "launch.kv_dtype": "KV cache type as asked, auto where left to the engine",
    "launch.draft_tokens": "tokens drafted a step, 0 without speculation",
    "launch.draft_heads": "drafts come from the model's own heads",
    "launch.max_requests": "limit on running requests, as given or as speculation sets it",
    "campaign.concurrency": "highest concurrency of the workloads",
    "campaign.request_tokens": "tokens of the longest request, input and output",
    "engine.has_kernels": "the installation's kernel libraries hold code for these GPUs",
}
"""Every fact beside ``arg.NAME`` and ``env.NAME``."""

NONE = "none"


@dataclass(frozen=True, slots=True)
class Load:
    """The heaviest of a campaign's workloads."""

    concurrency: int | None
    request_tokens: int

    @classmethod
    def of(cls, workloads: Sequence[Workload]) -> Load:
        """Take the maximum over workloads; request rates have no concurrency."""
        levels = [level for workload in workloads for level in workload.concurrency]
        tokens = [workload.input_tokens + workload.output_tokens for workload in workloads]
        return cls(concurrency=max(levels, default=None), request_tokens=max(tokens))


def fact_table(
    candidate: Candidate,
    shape: LaunchShape,
    load: Load,
    *,
    model: ModelFacts | None,
    machine: MachineFacts | None,
    engine: EngineFacts | None,
) -> dict[str, ArgValue | None]:
    """Flatten what is known about a candidate; None for a part that could not be seen at all."""
    table: dict[str, ArgValue | None] = _launch_facts(shape, load)
    table.update({f"arg.{name}": value for name, value in candidate.args.items() if value is not False})
    table.update({f"env.{name}": value for name, value in candidate.env.items()})
    if model is not None:
        table.update(_model_facts(model))
    if machine is not None:
        table.update(_machine_facts(machine))
    if machine is not None and engine is not None:
        table.update(_kernel_facts(machine, engine))
    return table


def _launch_facts(shape: LaunchShape, load: Load) -> dict[str, ArgValue | None]:
    divisor = shape.data_parallel if shape.data_parallel_attention else 1
    return {
        "launch.gpus": shape.gpus,
        "launch.tensor_parallel": shape.tensor_parallel,
        "launch.attention_parallel": max(1, shape.tensor_parallel // divisor),
        "launch.on_gpu": shape.on_gpu,
        "launch.kv_dtype": shape.kv_dtype,
        "launch.draft_tokens": shape.draft_tokens,
        "launch.draft_heads": shape.draft_heads,
        "launch.max_requests": shape.max_requests,
        "campaign.concurrency": load.concurrency,
        "campaign.request_tokens": load.request_tokens,
    }


def _model_facts(model: ModelFacts) -> dict[str, ArgValue | None]:
    quantization = model.quantization
    table: dict[str, ArgValue | None] = {
        "model.architecture": model.architecture,
        "model.type": model.model_type,
        "model.format": model.format,
        "model.hybrid": model.linear is not None,
        "model.mla": model.mla is not None,
        "model.moe": model.experts is not None,
        "model.experts": model.experts.count if model.experts else None,
        "model.heads": model.heads,
        "model.kv_heads": model.kv_heads,
        "model.hidden_size": model.hidden_size,
        "model.intermediate_size": model.intermediate_size,
        "model.expert_intermediate_size": model.experts.intermediate_size if model.experts else None,
        "model.context_tokens": model.context_tokens,
        "model.multimodal": model.multimodal,
        "model.quantization": quantization.method if quantization else NONE,
        "model.quantization_algorithm": (quantization.algorithm if quantization else None) or NONE,
        "model.kv_cache_quantization": (quantization.kv_cache if quantization else None) or NONE,
    }
    if model.tensors:
        fp4 = [group for group in model.tensors if "fp4" in group.format]
        table["model.fp4"] = bool(fp4)
        table["model.fp4_outside_experts"] = any(group.role != "routed_expert" for group in fp4)
    if model.kv_scales is not None:
        table["model.kv_scales"] = _scales_word(model.kv_scales.expected, model.kv_scales.key, model.kv_scales.value)
    if model.draft is not None:
        table["model.draft_heads"] = "present" if model.draft.present else "promised" if model.draft.promised else NONE
        table["model.draft_format"] = model.draft.format
    return table


def _scales_word(expected: int, key: int, value: int) -> str:
    if key == value == 0:
        return "absent"
    return "complete" if min(key, value) >= expected else "partial"


def _machine_facts(machine: MachineFacts) -> dict[str, ArgValue | None]:
    table: dict[str, ArgValue | None] = {
        "machine.nvcc": machine.nvcc or NONE,
        "machine.ninja": machine.ninja or NONE,
    }
    if machine.threads is not None:
        table["machine.threads"] = machine.threads
    if machine.iommu is not None:
        table["machine.iommu"] = machine.iommu
    if machine.gpus is not None:
        table["machine.gpus"] = len(machine.gpus)
        table.update(_gpu_facts(machine.gpus))
        nvlink = all_nvlink(machine)
        if nvlink is not None:
            table["machine.nvlink"] = nvlink
    return table


def _gpu_facts(gpus: tuple[GpuFacts, ...]) -> dict[str, ArgValue | None]:
    table: dict[str, ArgValue | None] = {}
    chips = {gpu.compute_capability for gpu in gpus}
    if len(chips) == 1:
        sm = sm_of(chips.pop())
        table |= {"machine.sm": sm, "machine.sm_major": sm // 10}
    if gpus and all(gpu.mig is not None for gpu in gpus):
        table["machine.mig"] = any(gpu.mig for gpu in gpus)
    return table


def sm_of(compute_capability: str) -> int:
    """``"12.0"`` gives 120."""
    major, minor = compute_capability.split(".")
    return int(major) * 10 + int(minor)


def all_nvlink(machine: MachineFacts) -> bool | None:
    """Whether every pair of GPUs is linked by NVLink; None where the links are not known."""
    gpus = machine.gpus or ()
    if machine.links is not None:
        joined = {frozenset((link.a, link.b)) for link in machine.links if link.path == "nvlink"}
        return len(joined) >= len(gpus) * (len(gpus) - 1) // 2
    counts = [gpu.nvlinks for gpu in gpus]
    return None if None in counts else all(counts)


def _kernel_facts(machine: MachineFacts, engine: EngineFacts) -> dict[str, ArgValue | None]:
    chips = {sm_of(gpu.compute_capability) for gpu in machine.gpus or ()}
    if not engine.kernel_archs or len(chips) != 1:
        return {}
    sm = chips.pop()
    held = {arch for archs in engine.kernel_archs.values() for arch in archs}
    return {"engine.has_kernels": any(runs_on(arch, sm) for arch in held)}


def runs_on(arch: str, sm: int) -> bool:
    """Whether machine code for ``arch`` (``sm_90a``, ``sm_120f``, ``sm_80``) runs on a chip ``sm``.

    Plain code runs on later minors of its major; ``a`` code on that chip alone; ``f`` code on its family. Source:
    CUDA C++ Programming Guide, "Compute capabilities" and "Feature set compiler targets".
    """
    digits = arch.removeprefix("sm_").rstrip("af")
    if not digits.isdigit():
        return False
    target = int(digits)
    if arch.endswith("a"):
        return target == sm
    return target // 10 == sm // 10 and target <= sm
