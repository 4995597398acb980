"""What the GPUs did during a load point: power, utilisation, memory, clocks and PCIe traffic, where NVML has them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from types import TracebackType
from typing import Any, Self

from shakedown.domain.metric import Telemetry

INTERVAL_S = 1.0

_THROTTLE_REASONS = 0x4 | 0x8 | 0x20 | 0x40 | 0x80
"""Power cap, hardware slowdown, software thermal, hardware thermal, power brake (nvml.h, nvmlClocksEventReason*)."""


@dataclass(slots=True)
class _Gpu:
    handle: Any
    power_w: list[float] = field(default_factory=list)
    utilization: list[float] = field(default_factory=list)
    memory_bytes: list[int] = field(default_factory=list)
    sm_clock_mhz: list[int] = field(default_factory=list)
    pcie_rx: list[float] = field(default_factory=list)
    pcie_tx: list[float] = field(default_factory=list)
    throttled: list[bool] = field(default_factory=list)


class TelemetrySampling:
    """Reads a server's GPUs about once a second in a thread; ``readings`` is there after exit, empty without NVML.

    Args:
        server_env: what the server's environment has beside or instead of this process's: it says which GPUs it sees.
        interval_s: seconds between readings.
    """

    def __init__(self, server_env: Mapping[str, str], interval_s: float = INTERVAL_S) -> None:
        self.readings = Telemetry()
        self._interval_s = interval_s
        self._stop = threading.Event()
        self._nvml, handles = _open_nvml({**os.environ, **server_env})
        self._gpus = [_Gpu(handle) for handle in handles]
        self._thread = threading.Thread(target=self._run, daemon=True, name="load-telemetry")

    def __enter__(self) -> Self:
        if self._gpus:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._gpus:
            self._stop.set()
            self._thread.join()
            if not any(gpu.memory_bytes for gpu in self._gpus):  # the point was shorter than an interval
                self._read_all()
            self.readings = _summary(self._gpus)
        if self._nvml is not None:
            self._nvml.nvmlShutdown()

    def _run(self) -> None:
        while not self._stop.wait(self._interval_s):
            self._read_all()

    def _read_all(self) -> None:
        for gpu in self._gpus:
            self._read(gpu)

    def _read(self, gpu: _Gpu) -> None:
        nvml, handle = self._nvml, gpu.handle
        readings: tuple[tuple[list[Any], Callable[[], Any]], ...] = (
            (gpu.power_w, lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000),
            (gpu.utilization, lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100),
            (gpu.memory_bytes, lambda: int(nvml.nvmlDeviceGetMemoryInfo(handle).used)),
            (gpu.sm_clock_mhz, lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
            (gpu.pcie_rx, lambda: self._pcie(handle, nvml.NVML_PCIE_UTIL_RX_BYTES)),
            (gpu.pcie_tx, lambda: self._pcie(handle, nvml.NVML_PCIE_UTIL_TX_BYTES)),
            (gpu.throttled, lambda: self._throttled(handle)),
        )
        for values, read in readings:
            try:
                values.append(read())
            except nvml.NVMLError:
                continue  # this GPU or driver does not have this reading

    def _pcie(self, handle: Any, counter: int) -> float:
        return float(self._nvml.nvmlDeviceGetPcieThroughput(handle, counter)) * 1024  # NVML gives KiB/s

    def _throttled(self, handle: Any) -> bool:
        return bool(self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle) & _THROTTLE_REASONS)


def _open_nvml(environment: Mapping[str, str]) -> tuple[Any, list[Any]]:
    """NVML and a handle of each GPU; nothing where there is no driver."""
    import pynvml

    from shakedown.inspect.nvml import visible_handles

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None, []
    try:
        return pynvml, list(visible_handles(environment).values())
    except pynvml.NVMLError:
        return pynvml, []


def _summary(gpus: list[_Gpu]) -> Telemetry:
    throttled = [value for gpu in gpus for value in gpu.throttled]
    return Telemetry(
        power_w_mean=_each(gpus, lambda gpu: gpu.power_w, fmean),
        utilization_mean=_each(gpus, lambda gpu: gpu.utilization, fmean),
        memory_used_bytes_max=_each(gpus, lambda gpu: gpu.memory_bytes, max),
        sm_clock_mhz_min=_each(gpus, lambda gpu: gpu.sm_clock_mhz, min),
        throttled=any(throttled) if throttled else None,
        pcie_rx_bytes_per_s_mean=_each(gpus, lambda gpu: gpu.pcie_rx, fmean),
        pcie_tx_bytes_per_s_mean=_each(gpus, lambda gpu: gpu.pcie_tx, fmean),
    )


def _each(gpus: list[_Gpu], values: Callable[[_Gpu], list[Any]], reduce: Callable[[list[Any]], Any]) -> Any:
    """One number for each GPU; None unless every GPU has the reading."""
    lists = [values(gpu) for gpu in gpus]
    return tuple(reduce(one) for one in lists) if lists and all(lists) else None
