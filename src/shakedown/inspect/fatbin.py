"""For which GPUs a shared library holds machine code, read from the headers of its fat binaries.

A fat binary begins with a magic number, a version, the size of its header and the size of what follows; each part has a
header with its kind (1: PTX, 2: machine code), its size and the architecture as a number (90, 120). The letter of
architecture-specific code (``sm_90a``) is not in that header, so plain and specific code read alike here; where
``cuobjdump`` is installed it is asked instead. Layout: ``fatbinary_section.h`` of the CUDA toolkit for the outer
header, and what its compilers write for the inner one.
"""

from __future__ import annotations

import mmap
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

_MAGIC = struct.pack("<I", 0xBA55ED50)
_OUTER = struct.Struct("<4sHHQ")
_INNER = struct.Struct("<HHIQIIHHI")
_MACHINE_CODE = 2
_CUOBJDUMP_TIMEOUT_S = 120.0


def kernel_archs(libraries: Sequence[Path]) -> dict[str, tuple[str, ...]]:
    """Return, for each library that holds GPU code, the architectures it holds it for."""
    found = {}
    for library in libraries:
        archs = _asked(library) or _read(library)
        if archs:
            found[library.name] = tuple(sorted(archs))
    return found


def _asked(library: Path) -> set[str]:
    program = shutil.which("cuobjdump")
    if program is None:
        return set()
    try:
        done = subprocess.run(
            [program, "--list-elf", str(library)],
            capture_output=True, text=True, errors="replace", timeout=_CUOBJDUMP_TIMEOUT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return set()
    return set(re.findall(r"\.(sm_\d+[af]?)\.cubin", done.stdout))


def _read(library: Path) -> set[str]:
    try:
        with library.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return {f"sm_{arch}" for arch in _machine_code(data)}
    except (OSError, ValueError):
        # An empty or unreadable library holds no code that could run.
        return set()


def _machine_code(data: mmap.mmap) -> Iterator[int]:
    place = data.find(_MAGIC)
    while place >= 0:
        end = place + 4
        if place + _OUTER.size <= len(data):
            _, version, header, size = _OUTER.unpack_from(data, place)
            if version == 1 and header == _OUTER.size and place + header + size <= len(data):
                end = place + header + size
                yield from _parts(data, place + header, end)
        place = data.find(_MAGIC, end)


def _parts(data: mmap.mmap, place: int, end: int) -> Iterator[int]:
    while place + _INNER.size <= end:
        kind, _, header, size, _, _, _, _, arch = _INNER.unpack_from(data, place)
        if kind not in (1, _MACHINE_CODE) or header < _INNER.size:
            return
        if kind == _MACHINE_CODE:
            yield arch
        place += header + size
