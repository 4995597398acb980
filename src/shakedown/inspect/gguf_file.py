"""GGUF headers: metadata and tensor table, read without touching a weight.

The format is described in https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. The ``gguf`` package reads the
same, but builds an array object for every token of the vocabulary, which takes seconds; only its table of block sizes
is used.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from shakedown.domain.errors import CheckpointError

Metadata = dict[str, "bool | int | float | str | list[int | float | bool] | ArrayLength"]

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_LONGEST_KEPT_ARRAY = 4096
"""Longer arrays are vocabularies: only their length is kept."""
_DEFAULT_ALIGNMENT = 32


@dataclass(frozen=True, slots=True)
class ArrayLength:
    """The length of an array whose content was skipped."""

    length: int


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """One row of the tensor table; ``size_bytes`` is None for a type this build does not know."""

    name: str
    shape: tuple[int, ...]
    type_name: str
    offset: int
    size_bytes: int | None

    @property
    def parameters(self) -> int:
        """Number of weights."""
        count = 1
        for width in self.shape:
            count *= width
        return count


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """All of a file's header; ``data_start`` is where the first tensor may begin."""

    metadata: Metadata
    tensors: tuple[GgufTensor, ...]
    data_start: int


def read_gguf_header(path: Path) -> GgufHeader:
    """Read the header and see that the file is long enough for the tensors it lists.

    Raises:
        CheckpointError: if the file is no GGUF, is damaged or is cut short.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            header = _Reader(stream, path, size).header()
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from error
    last = max((tensor.offset + (tensor.size_bytes or 0) for tensor in header.tensors), default=0)
    needed = header.data_start + last
    if size < needed:
        raise CheckpointError(
            f"{path}: cut short: its header lists tensors up to byte {needed:,}, the file ends at {size:,} "
            f"({needed - size:,} bytes missing); download or copy it again"
        )
    return header


class _Reader:
    """Walks a header from front to back."""

    def __init__(self, stream: BinaryIO, path: Path, size: int) -> None:
        self._stream = stream
        self._path = path
        self._size = size

    def header(self) -> GgufHeader:
        if self._stream.read(4) != b"GGUF":
            raise CheckpointError(f"{self._path}: not a GGUF file: it does not begin with 'GGUF'")
        version = self._scalar("I")
        if version not in (2, 3):
            raise CheckpointError(f"{self._path}: GGUF version {version} is not known; versions 2 and 3 are")
        tensor_count, metadata_count = self._scalar("Q"), self._scalar("Q")
        metadata: Metadata = {}
        for _ in range(metadata_count):
            key = self._string()
            metadata[key] = self._value(self._scalar("I"))
        sizes = _block_sizes()
        tensors = tuple(self._tensor(sizes) for _ in range(tensor_count))
        alignment = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
        step = alignment if isinstance(alignment, int) and alignment > 0 else _DEFAULT_ALIGNMENT
        return GgufHeader(metadata, tensors, -(-self._stream.tell() // step) * step)

    def _tensor(self, sizes: Callable[[int], tuple[str, int, int] | None]) -> GgufTensor:
        name = self._string()
        shape = tuple(self._scalar("Q") for _ in range(self._scalar("I")))
        number, offset = self._scalar("I"), self._scalar("Q")
        known = sizes(number)
        if known is None:
            return GgufTensor(name, shape, f"type_{number}", offset, None)
        type_name, block, block_bytes = known
        count = GgufTensor(name, shape, type_name, offset, None).parameters
        return GgufTensor(name, shape, type_name, offset, count // block * block_bytes)

    def _value(self, kind: int) -> bool | int | float | str | list[int | float | bool] | ArrayLength:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            return self._array()
        return self._scalar(self._code(kind))

    def _array(self) -> list[int | float | bool] | ArrayLength:
        kind, length = self._scalar("I"), self._scalar("Q")
        if kind == _STRING:
            for _ in range(length):
                self._skip(self._scalar("Q"))
            return ArrayLength(length)
        if kind == _ARRAY:
            for _ in range(length):
                self._array()
            return ArrayLength(length)
        code = self._code(kind)
        if length > _LONGEST_KEPT_ARRAY:
            self._skip(struct.calcsize(f"<{code}") * length)
            return ArrayLength(length)
        return list(struct.unpack(f"<{length}{code}", self._bytes(struct.calcsize(f"<{code}") * length)))

    def _code(self, kind: int) -> str:
        code = _SCALARS.get(kind)
        if code is None:
            raise CheckpointError(f"{self._path}: damaged: unknown value type {kind} in the GGUF metadata")
        return code

    def _scalar(self, code: str) -> int:
        value: int = struct.unpack(f"<{code}", self._bytes(struct.calcsize(f"<{code}")))[0]
        return value

    def _string(self) -> str:
        return self._bytes(self._scalar("Q")).decode("utf-8", errors="replace")

    def _skip(self, count: int) -> None:
        if self._stream.seek(count, 1) > self._size:
            raise self._cut()

    def _bytes(self, count: int) -> bytes:
        if count > self._size:
            raise self._cut()
        data = self._stream.read(count)
        if len(data) < count:
            raise self._cut()
        return data

    def _cut(self) -> CheckpointError:
        return CheckpointError(
            f"{self._path}: cut short or damaged: the file ends inside its GGUF header; copy it again"
        )


def _block_sizes() -> Callable[[int], tuple[str, int, int] | None]:
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType  # pulls in numpy: only for GGUF models

    table = {int(kind): (kind.name.lower(), *GGML_QUANT_SIZES[kind]) for kind in GGMLQuantizationType}
    return table.get
