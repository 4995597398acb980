"""Machines that plans are made for."""

from shakedown.domain.facts import GpuFacts, GpuLink, MachineFacts

MIB = 1 << 20


def _gpus(name: str, capability: str, memory_mib: int, count: int, nvlinks: int) -> tuple[GpuFacts, ...]:
    return tuple(
        GpuFacts(
            index=index,
            name=name,
            compute_capability=capability,
            memory_total_bytes=memory_mib * MIB,
            nvlinks=nvlinks,
            pcie_generation_max=5,
            pcie_width_max=16,
        )
        for index in range(count)
    )


def _pairs(count: int, path: str) -> tuple[GpuLink, ...]:
    return tuple(
        GpuLink.model_validate({"a": a, "b": b, "path": path}) for a in range(count) for b in range(a + 1, count)
    )


PRO_6000_X8 = MachineFacts(
    name="pro6000x8",
    gpus=_gpus("NVIDIA RTX PRO 6000 Blackwell Server Edition", "12.0", 97887, 8, 0),
    links=_pairs(8, "node"),
    nvcc="13.0",
    ninja="1.11",
    iommu="passthrough",
)
H200_X8 = MachineFacts(
    name="h200x8",
    gpus=_gpus("NVIDIA H200", "9.0", 143771, 8, 18),
    links=_pairs(8, "nvlink"),
    nvcc="13.0",
    ninja="1.11",
)
H200 = MachineFacts(name="h200", gpus=_gpus("NVIDIA H200", "9.0", 143771, 1, 0), links=(), nvcc="13.0", ninja="1.11")
RTX_5090 = MachineFacts(
    name="5090", gpus=_gpus("NVIDIA GeForce RTX 5090", "12.0", 32607, 1, 0), links=(), nvcc="13.0", ninja="1.11"
)
NO_GPU = MachineFacts(name="cpu", gpus=(), memory_total_bytes=64 << 30, threads=16)
UNSEEN = MachineFacts(name="unseen", gpus_unknown_because="behind a wrapper")
