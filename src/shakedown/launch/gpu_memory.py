"""GPU memory before and after a server: the next launch must find it free."""

from __future__ import annotations

import time
from typing import Self

import pynvml

_TOLERANCE_BYTES = 256 << 20
"""Contexts of other processes come and go; a server that leaks holds gigabytes."""
_PATIENCE_S = 30.0
"""Drivers give memory back a little after the process is gone."""


class GpuMemory:
    """Used memory of each GPU, bytes, remembered from before a launch."""

    def __init__(self, before: list[int]) -> None:
        self._before = before
        self._held: set[int] = set()

    @classmethod
    def measure(cls) -> Self | None:
        """Remember what is used now; None where there is no NVML."""
        before = used_bytes()
        return None if before is None else cls(before)

    def note_use(self) -> None:
        """Remember which GPUs the running server uses; call it when the server is ready."""
        for index, used in enumerate(used_bytes() or []):
            if used > self._before[index] + _TOLERANCE_BYTES:
                self._held.add(index)

    def wait_until_free(self) -> bool:
        """Whether the GPUs that the server used are back at what they had before, within 30 s."""
        deadline = time.monotonic() + _PATIENCE_S
        while not self._is_free():
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.1)
        return True

    def _is_free(self) -> bool:
        used = used_bytes()
        return used is not None and all(used[index] <= self._before[index] + _TOLERANCE_BYTES for index in self._held)


def used_bytes() -> list[int] | None:
    """Return the used memory of each GPU in bytes; None where NVML is missing or has no such reading."""
    try:
        pynvml.nvmlInit()
        try:
            handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
            return [int(pynvml.nvmlDeviceGetMemoryInfo(handle).used) for handle in handles]
        finally:
            pynvml.nvmlShutdown()
    except pynvml.NVMLError:
        return None
