"""Which of a machine's GPUs CUDA shows a process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

VARIABLE = "CUDA_VISIBLE_DEVICES"


def visible_gpus(environment: Mapping[str, str], uuids: Sequence[str]) -> tuple[int, ...]:
    """Return the indices of the GPUs that a process with this environment sees, in its order.

    CUDA's rules: no variable shows all; entries are indices or beginnings of UUIDs; the first entry that names no GPU
    ends the list; a GPU named twice leaves none. A slice of a GPU (``MIG-...``) says not which GPU it is of, so all
    count as visible then. Indices are counted in PCI order, as NVML and ``CUDA_DEVICE_ORDER=PCI_BUS_ID`` do; on a
    machine whose GPUs are all of one kind CUDA's own order is the same.

    Args:
        environment: of the process that will use the GPUs.
        uuids: of the machine's GPUs by index, as NVML writes them (``GPU-...``).

    Source: CUDA C++ Programming Guide, section "CUDA Environment Variables".
    """
    value = environment.get(VARIABLE)
    everything = tuple(range(len(uuids)))
    if value is None or value.strip().startswith("MIG-"):
        return everything
    seen: list[int] = []
    for entry in value.split(","):
        index = _index(entry.strip(), uuids)
        if index is None:
            break
        if index in seen:
            return ()
        seen.append(index)
    return tuple(seen)


def _index(entry: str, uuids: Sequence[str]) -> int | None:
    if entry.isascii() and entry.isdigit():
        return int(entry) if int(entry) < len(uuids) else None
    named = [index for index, uuid in enumerate(uuids) if entry.startswith("GPU-") and uuid.startswith(entry)]
    return named[0] if len(named) == 1 else None
