"""GPUs and the links between them, through NVML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, TypeVar

import pynvml

from shakedown.domain.facts import GpuFacts, GpuLink, GpuProcess
from shakedown.inspect.nvml import visible_handles

T = TypeVar("T")
LinkPath = Literal["nvlink", "switch", "bridge", "host", "node", "system"]

_MAX_NVLINKS = 18
"""Links of one GPU in the newest NVLink generations (nvml.h, NVML_NVLINK_MAX_LINKS)."""
_PATHS: dict[int, LinkPath] = {0: "switch", 10: "switch", 20: "bridge", 30: "host", 40: "node", 50: "system"}
"""``nvmlGpuTopologyLevel_t`` to our word."""


@dataclass(frozen=True, slots=True)
class SeenGpus:
    """What NVML said; ``gpus`` is None where it could not be asked."""

    gpus: tuple[GpuFacts, ...] | None
    links: tuple[GpuLink, ...] | None = None
    driver: str | None = None
    cuda_driver: str | None = None
    unknown_because: str | None = None


def inspect_gpus(environment: Mapping[str, str]) -> SeenGpus:
    """Ask NVML for every GPU that a process with this environment sees; without NVML they are unknown, not absent."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return SeenGpus(gpus=None, unknown_because=f"NVML cannot be used: {error}")
    try:
        return _ask(visible_handles(environment))
    finally:
        pynvml.nvmlShutdown()


def _ask(handles: Mapping[int, Any]) -> SeenGpus:
    cuda = _maybe(pynvml.nvmlSystemGetCudaDriverVersion_v2)
    return SeenGpus(
        gpus=tuple(_gpu(index, handle) for index, handle in handles.items()),
        links=tuple(_link(a, b, handles[a], handles[b]) for a, b in combinations(handles, 2)),
        driver=_maybe(pynvml.nvmlSystemGetDriverVersion),
        cuda_driver=f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else None,
    )


def _gpu(index: int, handle: Any) -> GpuFacts:
    major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(handle)
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    power_mw = _maybe(pynvml.nvmlDeviceGetEnforcedPowerLimit, handle)
    mig = _maybe(pynvml.nvmlDeviceGetMigMode, handle)
    pci = _maybe(pynvml.nvmlDeviceGetPciInfo, handle)
    bus_id = pci.busId if pci is not None else None
    return GpuFacts(
        index=index,
        name=pynvml.nvmlDeviceGetName(handle),
        compute_capability=f"{major}.{minor}",
        memory_total_bytes=memory.total,
        memory_free_bytes=memory.free,
        power_limit_w=power_mw / 1000 if power_mw is not None else None,
        mig=bool(mig[0]) if mig is not None else None,
        processes=_processes(handle),
        pcie_generation=_maybe(pynvml.nvmlDeviceGetCurrPcieLinkGeneration, handle),
        pcie_width=_maybe(pynvml.nvmlDeviceGetCurrPcieLinkWidth, handle),
        pcie_generation_max=_maybe(pynvml.nvmlDeviceGetMaxPcieLinkGeneration, handle),
        pcie_width_max=_maybe(pynvml.nvmlDeviceGetMaxPcieLinkWidth, handle),
        numa_node=_numa_node(bus_id) if bus_id else None,
        bus_id=bus_id,
        nvlinks=_nvlinks(handle),
    )


def _processes(handle: Any) -> tuple[GpuProcess, ...]:
    running = _maybe(pynvml.nvmlDeviceGetComputeRunningProcesses, handle) or []
    return tuple(
        GpuProcess(pid=process.pid, name=_process_name(process.pid), memory_bytes=process.usedGpuMemory)
        for process in running
    )


def _process_name(pid: int) -> str | None:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    return None


def _numa_node(bus_id: str) -> int | None:
    # NVML writes the PCI domain with eight digits, sysfs with four.
    domain, _, rest = bus_id.lower().partition(":")
    with suppress(OSError, ValueError):
        node = int(Path(f"/sys/bus/pci/devices/{domain[-4:]}:{rest}/numa_node").read_text(encoding="ascii"))
        return node if node >= 0 else None
    return None


def _nvlinks(handle: Any) -> int:
    states = (_maybe(pynvml.nvmlDeviceGetNvLinkState, handle, link) for link in range(_MAX_NVLINKS))
    return sum(1 for state in states if state == pynvml.NVML_FEATURE_ENABLED)


def _link(a: int, b: int, one: Any, other: Any) -> GpuLink:
    if _peer(one, other, pynvml.NVML_P2P_CAPS_INDEX_NVLINK):
        path: LinkPath = "nvlink"
    else:
        path = _PATHS.get(_maybe(pynvml.nvmlDeviceGetTopologyCommonAncestor, one, other) or 0, "system")
    return GpuLink(a=a, b=b, path=path, peer_to_peer=_peer(one, other, pynvml.NVML_P2P_CAPS_INDEX_READ))


def _peer(one: Any, other: Any, capability: int) -> bool | None:
    status = _maybe(pynvml.nvmlDeviceGetP2PStatus, one, other, capability)
    return None if status is None else bool(status == pynvml.NVML_P2P_STATUS_OK)


def _maybe(query: Callable[..., T], *arguments: Any) -> T | None:
    """Ask; None where this GPU or driver does not answer the question."""
    try:
        return query(*arguments)
    except pynvml.NVMLError:
        return None
