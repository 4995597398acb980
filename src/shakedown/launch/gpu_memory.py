"""GPU memory before and after a server: the next launch must find it free."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Self

import pynvml

from shakedown.inspect.nvml import visible_handles

_TOLERANCE_BYTES = 256 << 20
"""Contexts of other processes come and go; a server that leaks holds gigabytes."""
_PATIENCE_S = 30.0
"""Drivers give memory back a little after the process is gone."""


class GpuMemory:
    """Used memory of each GPU that a server sees, bytes, remembered from before its launch."""

    def __init__(self, before: dict[int, int], environment: Mapping[str, str]) -> None:
        self._before = before
        self._environment = environment
        self._held: set[int] = set()

    @classmethod
    def measure(cls, server_env: Mapping[str, str]) -> Self | None:
        """Remember what is used now; None where there is no NVML.

        Args:
            server_env: what the server's environment has beside or instead of this process's.
        """
        environment = {**os.environ, **server_env}
        before = used_bytes(environment)
        return None if before is None else cls(before, environment)

    def note_use(self) -> None:
        """Remember which GPUs the running server uses; call it when the server is ready."""
        for index, used in (used_bytes(self._environment) or {}).items():
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
        used = used_bytes(self._environment)
        return used is not None and all(used[index] <= self._before[index] + _TOLERANCE_BYTES for index in self._held)


def used_bytes(environment: Mapping[str, str]) -> dict[int, int] | None:
    """Return the used bytes of each GPU a process sees, by index; None where NVML is missing or has no such reading."""
    try:
        pynvml.nvmlInit()
        try:
            handles = visible_handles(environment)
            return {index: int(pynvml.nvmlDeviceGetMemoryInfo(handle).used) for index, handle in handles.items()}
        finally:
            pynvml.nvmlShutdown()
    except pynvml.NVMLError:
        return None
