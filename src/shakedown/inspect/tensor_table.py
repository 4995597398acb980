"""The tensors of a checkpoint, summed up.

Tensors whose names differ only in numbers are counted together: a large mixture has hundreds of thousands of them, and
some forty patterns.
"""

from __future__ import annotations

import gc
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path

from shakedown.domain.facts import DraftHeads, KvScales, TensorGroup
from shakedown.inspect.safetensors_files import read_header
from shakedown.inspect.tensor_groups import TensorTally
from shakedown.inspect.tensor_roles import MAIN_PARTS, Row, role_of, split_name, stored_as

_NO_DIGITS = str.maketrans("", "", "0123456789")
_BITS = {"F64": 64, "I64": 64, "U64": 64, "F32": 32, "I32": 32, "U32": 32, "BF16": 16, "F16": 16, "I16": 16, "U16": 16,
         "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4}  # fmt: skip
"""Bits of an element by safetensors type; every other type has eight."""
_DTYPE, _SHAPE = itemgetter("dtype"), itemgetter("shape")
_DRAFT_LAYER = re.compile(r"(?:^|\.)mtp\.layers\.(\d+)\.")


class TensorTable:
    """Reads headers and sums them up.

    Args:
        layers: layers of the network.
        draft_layers: draft heads that the configuration promises; DeepSeek stores them as layers past the last.
    """

    def __init__(self, layers: int, draft_layers: int) -> None:
        self._past = tuple(f"layers.{number}." for number in range(layers, layers + draft_layers))
        self._counts: Counter[tuple[str, str, tuple[int, ...]]] = Counter()
        self._drafts: set[str] = set()
        self.count = 0

    def read(self, files: Sequence[Path]) -> None:
        """Read the headers of all files.

        Raises:
            CheckpointError: if one is cut short or damaged.
        """
        with _collection_paused():
            for path in files:
                header = read_header(path)
                self.count += len(header)
                # Hundreds of thousands of rows: in C throughout, which takes a little over half the time.
                formats, shapes = map(_DTYPE, header.values()), map(tuple, map(_SHAPE, header.values()))
                self._counts.update(zip(self._patterns(header), formats, shapes, strict=True))

    def _patterns(self, names: Collection[str]) -> list[str]:
        """Names without their numbers, draft heads marked ``mtp.``, in one pass over all of them."""
        for name in names:
            if "mtp." in name and (match := _DRAFT_LAYER.search(name)):
                self._drafts.add(match[1])
        for prefix in self._past:
            past = [f"mtp.{name}" if prefix in name else name for name in names]
            self._drafts |= {prefix} if past != list(names) else set()
            names = past
        return "\n".join(names).translate(_NO_DIGITS).split("\n") if names else []

    def groups(self, *, packed_bits: int, method: str) -> tuple[TensorGroup, ...]:
        """Sum up by role and format."""
        tally = TensorTally()
        for module, rows in self._modules().items():
            role = role_of(module)
            mains = [row for row in rows if row.part in MAIN_PARTS]
            rest = [row for row in rows if row.part not in MAIN_PARTS]
            formats = [stored_as(row, rows, packed_bits=packed_bits, method=method) for row in mains] or [("f32", 0)]
            for (fmt, weights), row in zip(formats, mains, strict=False):
                tally.add(role, fmt, weights * row.count, row.size_bytes, row.count)
            # Scales belong to the quantised matrices, where some layers have others beside them.
            owner = next((fmt for fmt, _ in formats if fmt not in ("bf16", "f16", "f32")), formats[0][0])
            for row in rest:
                biases = math.prod(row.shape) * row.count if row.part == "bias" else 0
                tally.add(role, owner, biases, row.size_bytes, row.count)
        return tally.groups()

    def _modules(self) -> dict[str, list[Row]]:
        modules: dict[str, list[Row]] = {}
        for (pattern, dtype, shape), count in self._counts.items():
            module, part = split_name(pattern)
            size = math.prod(shape) * _BITS.get(dtype, 8) // 8 * count
            modules.setdefault(module, []).append(Row(part, dtype, shape, count, size))
        return modules

    def kv_scales(self, attention_layers: int) -> KvScales:
        """Count scales of keys and values under any of the names that loaders know; draft heads left out.

        Names: ``maybe_remap_kv_scale_name`` in SGLang's and vLLM's ``weight_utils.py``.
        """
        key = value = 0
        for module, rows in self._modules().items():
            if role_of(module) != "attention":
                continue
            counts = {row.part: row.count for row in rows}
            whole = counts.get("kv_scale", 0)
            output = counts.get("output_scale", 0)
            key += whole + counts.get("k_scale", 0) + (output if module.endswith("k_proj") else 0)
            value += whole + counts.get("v_scale", 0) + (output if module.endswith("v_proj") else 0)
        return KvScales(expected=attention_layers, key=key, value=value)

    def draft_heads(self, promised: int, groups: Sequence[TensorGroup]) -> DraftHeads:
        """Draft heads promised and present; their format is that of the largest part."""
        own = [group for group in groups if group.role == "mtp"]
        largest = max(own, key=lambda group: group.parameters, default=None)
        return DraftHeads(
            promised=promised,
            present=len(self._drafts) or int(bool(own)),
            format=largest.format if largest else None,
            bytes=sum(group.bytes for group in own),
        )


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Half of the time to parse a header of 30 MB goes into collecting garbage that is not there."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
