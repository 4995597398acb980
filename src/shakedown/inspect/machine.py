"""What this machine is: GPUs through NVML, CPU, memory, toolchain. No GPU is a normal answer."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import psutil
from pydantic import ValidationError

from shakedown.domain.errors import UserError
from shakedown.domain.facts import FactNote, MachineFacts
from shakedown.inspect.gpus import inspect_gpus

_SHM = Path("/dev/shm")  # noqa: S108 - engines exchange tensors here; its size matters
_TOOL_TIMEOUT_S = 10.0


def inspect_machine(environment: Mapping[str, str] | None = None) -> MachineFacts:
    """Look at the machine this runs on. Never fails: what cannot be seen is None.

    Args:
        environment: of the engine, where it differs from this process's own: it may see fewer GPUs.
    """
    seen = inspect_gpus(os.environ if environment is None else environment)
    memory = psutil.virtual_memory()
    shm = shutil.disk_usage(_SHM) if _SHM.is_dir() else None
    cuda_home = _cuda_home()
    facts = MachineFacts(
        name=platform.node(),
        gpus=seen.gpus,
        gpus_unknown_because=seen.unknown_because,
        links=seen.links,
        driver=seen.driver,
        cuda_driver=seen.cuda_driver,
        cpu=_cpu_name(),
        cores=psutil.cpu_count(logical=False),
        threads=len(os.sched_getaffinity(0)),
        numa_nodes=len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or None,
        memory_total_bytes=memory.total,
        memory_available_bytes=memory.available,
        shm_total_bytes=shm.total if shm else None,
        shm_free_bytes=shm.free if shm else None,
        iommu=_iommu(),
        cuda_home=cuda_home,
        nvcc=_tool_version(_nvcc(cuda_home), r"release (\d+\.\d+)"),
        ninja=_tool_version("ninja", r"(\d+\.\d+\S*)"),
        os=f"{platform.system()} {platform.release()}",
    )
    return facts.model_copy(update={"notes": tuple(_notes(facts))})


def read_machine_file(path: str | Path) -> MachineFacts:
    """Read a machine description: the ``machine`` object of ``inspect --json``, alone or under that key.

    Raises:
        UserError: if the file cannot be read or is no such description; every wrong key is named.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UserError(f"{path}: cannot read the machine file: {reason}") from error
    try:
        content = json.loads(text)
    except ValueError as error:
        raise UserError(f"{path}: not JSON: {error}") from error
    whole = isinstance(content, dict) and isinstance(content.get("machine"), dict)
    try:
        return MachineFacts.model_validate(content["machine"] if whole else content)
    except ValidationError as error:
        raise UserError(f"{path}: not a machine description: {_problems(error)}") from error


def _problems(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(str(step) for step in problem['loc']) or 'top'}: {problem['msg']}" for problem in error.errors()[:8]
    )


def _cpu_name() -> str | None:
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        return platform.processor() or None
    match = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    return match.group(1).strip() if match else platform.machine() or None


def _iommu() -> str | None:
    """``passthrough`` and ``off`` let GPUs reach each other directly; translation may not."""
    command_line = Path("/proc/cmdline")
    groups = Path("/sys/class/iommu")
    if not command_line.exists() or not groups.is_dir():
        return None
    words = command_line.read_text(encoding="utf-8", errors="replace").split()
    if not any(groups.iterdir()):
        return "off"
    return "passthrough" if {"iommu=pt", "iommu.passthrough=1"} & set(words) else "translated"


def _cuda_home() -> str | None:
    named = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    default = Path("/usr/local/cuda")
    return named or (str(default.resolve()) if default.exists() else None)


def _nvcc(cuda_home: str | None) -> str:
    inside = Path(cuda_home) / "bin" / "nvcc" if cuda_home else None
    return str(inside) if inside is not None and inside.exists() else "nvcc"


def _tool_version(program: str, pattern: str) -> str | None:
    path = shutil.which(program)
    if path is None:
        return None
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=_TOOL_TIMEOUT_S, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(pattern, done.stdout + done.stderr)
    return match.group(1) if match else None


def _notes(facts: MachineFacts) -> list[FactNote]:
    notes = []
    if facts.gpus and facts.iommu == "translated" and len(facts.gpus) > 1:
        notes.append(
            FactNote(
                kind="iommu_translated",
                summary="the IOMMU translates: peer-to-peer copies between PCIe GPUs may be slow or hang; boot with "
                "iommu=pt, and switch ACS off on the bridges between the GPUs",
            )
        )
    busy = [gpu for gpu in facts.gpus or () if gpu.processes]
    if busy:
        holders = ", ".join(f"GPU {gpu.index}: pid {gpu.processes[0].pid}" for gpu in busy)
        notes.append(FactNote(kind="gpu_busy", summary=f"processes hold GPU memory ({holders})"))
    if facts.gpus and facts.cuda_home is None and facts.nvcc is None:
        notes.append(
            FactNote(
                kind="no_cuda_toolkit",
                summary="no CUDA toolkit (CUDA_HOME, nvcc): kernels that are compiled at start-up will fail to build",
            )
        )
    return notes
