"""Gigabytes in bounded memory, hostile lines in bounded time."""

import itertools
import re
import tracemalloc
from collections.abc import Iterator
from types import ModuleType

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.logs.generator import cases, real_log

from shakedown.diagnose import arbitrate, engine_guess, exceptions, render, scanner, textline, tracebacks
from shakedown.diagnose.catalogue import signatures
from shakedown.diagnose.diagnose import diagnose_blocks, diagnose_lines
from shakedown.diagnose.matcher import matcher_for
from shakedown.diagnose.patterns import compile_pattern, required_literals
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


# --- no pattern can backtrack for ever ------------------------------------------------------------------------------


def test_every_signature_runs_on_re2_which_cannot_backtrack() -> None:
    kind = type(re2.compile("x"))
    for signature in signatures():
        for pattern in signature.patterns:
            assert isinstance(compile_pattern(pattern), kind)


def nested_repeats(pattern: re.Pattern[str]) -> bool:
    """Whether an unbounded repeat holds another one: what makes Python's matcher exponential."""
    return _nested(re._parser.parse(pattern.pattern, pattern.flags), inside=False)


def _nested(parsed: object, *, inside: bool) -> bool:
    for opcode, argument in parsed:  # type: ignore[attr-defined]
        if str(opcode) in {"MAX_REPEAT", "MIN_REPEAT"}:
            unbounded = argument[1] is re._constants.MAXREPEAT
            if (unbounded and inside) or _nested(argument[2], inside=inside or unbounded):
                return True
        elif str(opcode) == "SUBPATTERN":
            if _nested(argument[3], inside=inside):
                return True
        elif str(opcode) == "BRANCH" and any(_nested(branch, inside=inside) for branch in argument[1]):
            return True
    return False


@pytest.mark.parametrize("module", [arbitrate, engine_guess, exceptions, render, scanner, textline, tracebacks])
def test_python_patterns_over_log_lines_have_no_nested_repeats(module: ModuleType) -> None:
    own = [value for value in vars(module).values() if isinstance(value, re.Pattern)]
    # The dotted module path of an exception and the ranks of SGLang repeat inside a repeat, but each turn ends at a dot
    # or begins with a space: there is one way to match.
    allowed = {tracebacks._EXCEPTION, textline._STREAM}
    assert [pattern.pattern for pattern in own if pattern not in allowed and nested_repeats(pattern)] == []


HOSTILE = [
    "a" * 200_000,
    "(" * 200_000,
    " " * 200_000,
    "a." * 100_000,
    "Error: " * 30_000,
    "[2" * 100_000,
    "\r" * 100_000,
]
HOSTILE += [
    "(a pid=1) " * 20_000,
    "CUDA out of memory. Tried to allocate " * 5_000,
    '{"log": "' * 20_000 + '"}',
    "\x1b[" * 100_000,
]


@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: line[:12])
def test_hostile_lines_end(line: str) -> None:
    diagnose_lines([line, line + ": x", f"KeyError: '{line}'", "Traceback (most recent call last):", line])


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
