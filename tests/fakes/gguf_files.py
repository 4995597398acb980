"""Makes GGUF files of any shape: real header, sparse data."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

TYPES = {"f32": (0, 1, 4), "f16": (1, 1, 2), "q4_0": (2, 32, 18), "q8_0": (8, 32, 34), "q4_k": (12, 256, 144)}


def write_gguf(
    path: Path, metadata: Mapping[str, object], tensors: Sequence[tuple[str, tuple[int, ...], str]], *, version: int = 3
) -> Path:
    """Write a GGUF file whose tensor data is a hole."""
    header = bytearray(b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata)))
    for key, value in metadata.items():
        header += _string(key) + _value(value)
    offset = 0
    for name, shape, kind in tensors:
        number, block, block_bytes = TYPES[kind]
        count = 1
        for width in shape:
            count *= width
        header += _string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, number, offset)
        offset += -(-count // block * block_bytes // 32) * 32
    header += b"\0" * (-len(header) % 32)
    with path.open("wb") as stream:
        stream.write(header)
        stream.truncate(len(header) + offset)
    return path


def write_tiny_gguf(path: Path) -> Path:
    """A Llama of one layer, which can be inspected and planned for, not run."""
    metadata = {
        "general.architecture": "llama",
        "llama.block_count": 1,
        "llama.context_length": 4096,
        "llama.embedding_length": 256,
        "llama.feed_forward_length": 512,
        "llama.attention.head_count": 8,
        "llama.attention.head_count_kv": 2,
        "tokenizer.ggml.tokens": ["a", "b"],
    }
    return write_gguf(
        path, metadata, [("token_embd.weight", (256, 2), "q8_0"), ("blk.0.attn_k.weight", (256, 64), "q8_0")]
    )


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: object) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _string(value)
    assert isinstance(value, list)
    if value and isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(_string(item) for item in value)
    return struct.pack(f"<IIQ{len(value)}I", 9, 4, len(value), *value)
