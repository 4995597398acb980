"""Gigabytes in bounded memory; the literals that the scan looks for."""

import itertools
import re
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.logs.generator import cases, real_log

from shakedown.diagnose.catalogue import signatures
from shakedown.diagnose.diagnose import diagnose_blocks, diagnose_lines
from shakedown.diagnose.matcher import matcher_for
from shakedown.diagnose.patterns import required_literals
from shakedown.diagnose.scanner import BLOCK_BYTES

OOM = b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 MiB."


def peak_bytes(blocks: Iterator[bytes]) -> int:
    diagnose_lines([OOM])  # compiled patterns are not the log's memory
    tracemalloc.start()
    try:
        root = diagnose_blocks(blocks).root
        assert root is not None
        assert root.signature == "cuda-out-of-memory"
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_line_larger_than_memory_should_be_is_read_in_pieces() -> None:
    def blocks() -> Iterator[bytes]:
        yield b"start\n"
        for _ in range(100):
            yield b"0123456789abcde " * (BLOCK_BYTES // 16)
        yield b"\n" + OOM + b"\n"

    assert peak_bytes(blocks()) < 10 * BLOCK_BYTES
    root = diagnose_blocks(blocks()).root
    assert root is not None
    assert root.line_number == 3


def test_memory_does_not_grow_with_a_log_full_of_failures() -> None:
    noise = (OOM + b'\nTraceback (most recent call last):\n  File "/x.py", line 1, in f\n    f()\nOddError: 1\n') * 200

    def blocks(count: int) -> Iterator[bytes]:
        return (noise for _ in range(count))

    assert peak_bytes(blocks(12)) < 2 * peak_bytes(blocks(3)) + BLOCK_BYTES


@settings(max_examples=30, deadline=None)
@given(cuts=st.lists(st.integers(0, 4000), max_size=6))
def test_where_blocks_are_cut_between_lines_changes_nothing(cuts: list[int]) -> None:
    lines = [b"line %d" % number for number in range(200)]
    lines[150] = OOM
    ends = sorted({min(cut, 200) for cut in cuts} | {0, 200})
    blocks = [b"".join(line + b"\n" for line in lines[a:b]) for a, b in itertools.pairwise(ends)]
    root = diagnose_blocks(blocks).root
    assert root is not None
    assert root.line_number == 151


PATTERNS = sorted({pattern for signature in signatures() for pattern in signature.patterns if "(?i)" not in pattern})


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_a_pattern_matches_holds_one_of_its_literals(data: st.DataObject) -> None:
    pattern = data.draw(st.sampled_from(PATTERNS))
    text = data.draw(st.from_regex(re.compile(pattern, re.ASCII)))
    assert any(re.search(literal, text) for literal in required_literals(pattern))


@pytest.mark.parametrize("name", ["sglang-0.5.17-h200-nextn-load.log.gz", "vllm-0.26.0-h200-ready.log.gz"])
def test_healthy_lines_hold_hardly_any_signatures_literals(name: str) -> None:
    """Reading is fast because the scan stops seldom: a pattern of common words would undo that."""
    lines = [line.encode() for line in real_log(name) if line]
    stopped = [line for line in lines if matcher_for(None).trigger.search(line)]
    assert len(stopped) / len(lines) < 0.12


def test_cases_are_real_and_sourced() -> None:
    assert all(case.source.startswith("https://github.com/") for case in cases())
    assert len(cases()) == 128
