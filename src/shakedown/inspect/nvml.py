"""The GPUs that NVML gives access to, as far as a process sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pynvml

from shakedown.domain.visible_gpus import visible_gpus


def visible_handles(environment: Mapping[str, str]) -> dict[int, Any]:
    """Return NVML's handle of each GPU that a process with this environment sees, by NVML's index, in its order.

    Call it between ``nvmlInit`` and ``nvmlShutdown``.

    Raises:
        pynvml.NVMLError: where NVML cannot be asked.
    """
    handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
    shown = visible_gpus(environment, [str(pynvml.nvmlDeviceGetUUID(handle)) for handle in handles])
    return {index: handles[index] for index in shown}
