"""CUDA's own rules for ``CUDA_VISIBLE_DEVICES``."""

from __future__ import annotations

import pytest

from shakedown.domain.visible_gpus import visible_gpus

UUIDS = ("GPU-8f2a0000-0000", "GPU-8f2b0000-0000", "GPU-11110000-0000", "GPU-22220000-0000")


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (None, (0, 1, 2, 3)),
        ("", ()),
        ("2", (2,)),
        (" 3 , 1", (3, 1)),
        ("0,1,-1,2", (0, 1)),
        ("0,9,1", (0,)),
        ("1,1", ()),
        ("GPU-1111", (2,)),
        ("GPU-8f2b0000-0000,0", (1, 0)),
        ("GPU-8f2", ()),
        ("NoDevFiles", ()),
        ("MIG-5c3d", (0, 1, 2, 3)),
        ("\u0663", ()),
    ],
)
def test_what_cuda_shows(value: str | None, seen: tuple[int, ...]) -> None:
    environment = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}
    assert visible_gpus(environment, UUIDS) == seen
