import struct
from pathlib import Path

import pytest

from shakedown.inspect import fatbin
from shakedown.inspect.fatbin import kernel_archs


def part(kind: int, arch: int, payload: bytes = b"\0" * 32) -> bytes:
    header = struct.pack("<HHIQIIHHI", kind, 0x101, 64, len(payload), 0, 0, 0, 0, arch)
    return header + b"\0" * (64 - len(header)) + payload


def fat_binary(*parts: bytes) -> bytes:
    content = b"".join(parts)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(content)) + content


@pytest.fixture(autouse=True)
def without_cuobjdump(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fatbin.shutil, "which", lambda _: None)


def test_machine_code_is_found_and_ptx_is_not(tmp_path: Path) -> None:
    library = tmp_path / "lib.so"
    library.write_bytes(
        b"\x7fELF" + b"x" * 100 + fat_binary(part(2, 90), part(1, 120)) + b"y" * 7 + fat_binary(part(2, 100))
    )
    assert kernel_archs([library]) == {"lib.so": ("sm_100", "sm_90")}


def test_a_library_without_gpu_code_is_not_named(tmp_path: Path) -> None:
    (tmp_path / "a.so").write_bytes(b"\x7fELF" + b"x" * 100)
    (tmp_path / "empty.so").write_bytes(b"")
    assert kernel_archs([tmp_path / "a.so", tmp_path / "empty.so", tmp_path / "nowhere.so"]) == {}


def test_a_magic_number_by_chance_does_no_harm(tmp_path: Path) -> None:
    stray = struct.pack("<I", 0xBA55ED50)
    library = tmp_path / "lib.so"
    library.write_bytes(stray + b"\xff" * 40 + fat_binary(part(7, 1)) + fat_binary(part(2, 120)) + stray)
    assert kernel_archs([library]) == {"lib.so": ("sm_120",)}
