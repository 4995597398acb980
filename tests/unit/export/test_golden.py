"""Exported files as a reader last approved them.

To approve a change: run with APPROVE=1 (which fails), read the difference, run again.
"""

import os
from pathlib import Path

import pytest
from tests.unit.export.winners import WINNERS

from shakedown.export.registry import export

GOLDEN = Path(__file__).parents[2] / "golden" / "exports"
CASES = [
    ("llama.cpp", "command"),
    ("llama.cpp", "systemd"),
    ("llama.cpp", "kubernetes"),
    ("sglang", "systemd"),
    ("sglang", "compose"),
    ("sglang", "kubernetes"),
    ("sglang", "prometheus"),
    ("sglang-two-nodes", "kubernetes"),
    ("vllm", "engine"),
]


@pytest.mark.parametrize(("winner", "format_"), CASES)
def test_files_are_as_approved(winner: str, format_: str) -> None:
    folder = GOLDEN / f"{winner}-{format_}"
    files = export(WINNERS[winner], format_)
    if os.environ.get("APPROVE"):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        pytest.fail(f"wrote {folder}: read the difference, then run without APPROVE")
    assert files == {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}
