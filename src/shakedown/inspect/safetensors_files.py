"""Safetensors headers: every tensor's name, type and shape, and whether the files are whole. No weight is read.

The format: eight bytes of little-endian length, a JSON header of that length, then the data
(https://github.com/huggingface/safetensors).
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from shakedown.domain.errors import CheckpointError

_SHARD = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.safetensors")
_LONGEST_HEADER = 1 << 30
_OFFSETS, _END = itemgetter("data_offsets"), itemgetter(1)


Header = dict[str, Any]
"""Tensor name to ``{"dtype": …, "shape": […], "data_offsets": [begin, end]}``."""


@dataclass(frozen=True, slots=True)
class TensorFiles:
    """The files of a checkpoint."""

    files: tuple[Path, ...]
    index: Path | None
    promised: int | None
    """Number of tensors in the index; None without an index."""


def find_tensor_files(folder: Path) -> TensorFiles:
    """Find the files that belong to the checkpoint.

    Raises:
        CheckpointError: if a shard is missing.
    """
    index = next(iter(sorted(folder.glob("*.safetensors.index.json"))), None)
    if index is not None:
        # The index of a large mixture lists hundreds of thousands of tensors; only the files matter here.
        named = [name.decode() for name in re.findall(rb':\s*"([^"/]+\.safetensors)"', index.read_bytes())]
        if not named:
            raise CheckpointError(f"{index}: lists no safetensors files, perhaps cut short; download it again")
        names = sorted(set(named))
        _require(folder, names, f"{index.name} lists")
        return TensorFiles(tuple(folder / name for name in names), index, len(named))
    found = sorted(folder.glob("*.safetensors"))
    plain = [path for path in found if not path.name.startswith("consolidated")]
    chosen = plain or found
    for path in chosen:
        match = _SHARD.fullmatch(path.name)
        if match:
            count = int(match[3])
            names = [f"{match[1]}-{number:05d}-of-{count:05d}.safetensors" for number in range(1, count + 1)]
            _require(folder, names, f"'{path.name}' says there are")
    return TensorFiles(tuple(chosen), None, None)


def promised_names(index: Path) -> set[str]:
    """Return the names of all tensors in an index.

    Raises:
        CheckpointError: if it is no safetensors index.
    """
    try:
        return set(from_json(index.read_bytes())["weight_map"])
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{index}: no safetensors index, perhaps cut short; download it again") from error


def _require(folder: Path, names: list[str], who: str) -> None:
    missing = [name for name in names if not (folder / name).exists()]
    if missing:
        some = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
        raise CheckpointError(
            f"{folder}: {who} {len(names)} files, {len(missing)} missing: {some}; download the rest of the checkpoint"
        )


def read_header(path: Path) -> Header:
    """Read a file's header and see that the file is long enough for what it lists.

    Raises:
        CheckpointError: if the file is cut short or is no safetensors file.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            start = stream.read(8)
            length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
            if not 2 <= length <= _LONGEST_HEADER:
                raise CheckpointError(f"{path}: not a safetensors file: its first eight bytes are no header length")
            data = stream.read(length)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) < length:
        raise CheckpointError(f"{path}: cut short inside its header; download or copy it again")
    try:
        header: Header = from_json(data)
        header.pop("__metadata__", None)
        end = max(map(_END, map(_OFFSETS, header.values())), default=0)
    except (ValueError, AttributeError, TypeError, KeyError, IndexError) as error:
        raise CheckpointError(f"{path}: its header is damaged; download or copy it again") from error
    needed = 8 + length + end
    if size < needed:
        raise CheckpointError(
            f"{path}: cut short: its header lists {needed:,} bytes, the file has {size:,} "
            f"({needed - size:,} missing); download or copy it again"
        )
    return header
