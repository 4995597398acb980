"""No pattern can backtrack for ever: proved by the patterns' form, and by running each over lines made to hurt.

Signatures run on RE2, which cannot backtrack. Everything else that reads a log (line shapes, tracebacks, error codes,
vocabulary, places, complaints) runs on Python's ``re``; those patterns are found by themselves in every module of the
package, so that a new table is held to the same.
"""

import importlib
import itertools
import pkgutil
import re
import time
from collections.abc import Iterator

import pytest
import re2

import shakedown.diagnose
from shakedown.diagnose import (
    arbitrate,
    complaints,
    engine_guess,
    engine_parts,
    error_codes,
    textline,
    tracebacks,
    versions,
    vocabulary,
)
from shakedown.diagnose.catalogue import signatures
from shakedown.diagnose.diagnose import diagnose_lines
from shakedown.diagnose.exceptions import category_of, category_within, places_in
from shakedown.diagnose.patterns import compile_pattern

WINDOW = 8_000
"""No text is longer when a pattern sees it: the scanner cuts a line to a window."""
MOST_SECONDS = 1.0
"""Far above what a linear pattern needs for a window, far below what backtracking takes."""
ONLY_AT_THE_START = {
    tracebacks._EXCEPTION,
    tracebacks._FRAME,
    textline._STREAM,
    textline._HEADER,
    versions._CLAUSE,
}
"""Used with ``match`` or ``fullmatch``: never tried at every place of a line."""


def patterns_in(value: object) -> Iterator[re.Pattern[str]]:
    """Give the compiled patterns in a value of a module, however deep its tables are."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from patterns_in([*value.keys(), *value.values()])
    elif isinstance(value, (tuple, list, set, frozenset)):
        yield from itertools.chain.from_iterable(map(patterns_in, value))


def python_patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Find every pattern of the package with the name of what holds it; a table's patterns are numbered."""
    found: dict[re.Pattern[str], str] = {}
    for member in pkgutil.walk_packages(shakedown.diagnose.__path__, "shakedown.diagnose."):
        if member.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(member.name)).items():
            for number, pattern in enumerate(patterns_in(value)):
                found.setdefault(pattern, f"{member.name.removeprefix('shakedown.diagnose.')}.{name}.{number}")
    return [(name, pattern) for pattern, name in found.items()]


PYTHON_PATTERNS = python_patterns()
EACH = pytest.mark.parametrize(
    "pattern", [found for _, found in PYTHON_PATTERNS], ids=[name for name, _ in PYTHON_PATTERNS]
)

UNITS = ["a", "(", " ", "a.", "a/", "\\\\", "'", "[2", "_a", "a-", "1 ", "0.", "\\r", "|", "^", "\\x1b[", '{"log": "']
UNITS += ["Error: ", "error ", "errno ", "(a pid=1) ", "assert ", "free_", "max_num_", "must ", "version ", "kv cache "]
UNITS += ["not supported ", "unsupported head", "NCCL WARN ", "CUDA error: ", 'File "a", line 1, in ', "draft model "]
UNITS += ["CUDA out of memory. Tried to allocate ", "slot  ", "a" * 60 + " "]


def long_line(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def test_every_signature_runs_on_re2_which_cannot_backtrack() -> None:
    kind = type(re2.compile("x"))
    for signature in signatures():
        for pattern in [*signature.patterns, *([signature.requires] if signature.requires else [])]:
            assert isinstance(compile_pattern(pattern), kind)


def test_the_patterns_of_all_layers_are_found() -> None:
    found = {pattern for _, pattern in PYTHON_PATTERNS}
    tables = [error_codes.CODES, vocabulary.TELLING, vocabulary.PASSING, engine_parts.PLACES, vocabulary.SHAPES]
    alone = [
        complaints._COMPLAINT,
        engine_parts.DRAFT_NAMED,
        textline._STREAM,
        tracebacks._EXCEPTION,
        arbitrate._INSTEAD,
    ]
    assert found.issuperset(patterns_in([*tables, *alone, engine_guess._MARKS]))


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


@EACH
def test_python_patterns_over_log_lines_have_no_nested_repeats(pattern: re.Pattern[str]) -> None:
    # The dotted module path of an exception, the ranks of SGLang and a version's numbers repeat inside a repeat, but
    # each turn ends at a dot or begins with a space or a dot: there is one way to match.
    one_way = {tracebacks._EXCEPTION, textline._STREAM, versions._VERSION, versions._CLAUSE}
    assert pattern in one_way or not nested_repeats(pattern)


@EACH
def test_python_patterns_end_on_hostile_lines(pattern: re.Pattern[str]) -> None:
    use = pattern.match if pattern in ONLY_AT_THE_START else pattern.search
    for unit in UNITS:
        line = long_line(unit, WINDOW)
        began = time.process_time()
        use(line)
        assert time.process_time() - began < MOST_SECONDS, unit


@pytest.mark.parametrize("unit", UNITS)
def test_hostile_words_and_places_end(unit: str) -> None:
    line = long_line(unit, WINDOW)
    began = time.process_time()
    category_of("RuntimeError", line, [line] * 3, [line] * 3)
    category_within(None, line, [line] * 3)
    places_in([line, f'  File "{line}", line 1, in {line}'])
    assert time.process_time() - began < MOST_SECONDS


@pytest.mark.parametrize("unit", UNITS)
def test_hostile_lines_end(unit: str) -> None:
    line = long_line(unit, 200_000)
    log = [line, line + ": x", f"KeyError: '{line}'", "Traceback (most recent call last):", line]
    wrapper = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
    began = time.process_time()
    diagnose_lines([*log, wrapper])
    diagnose_lines(["failed: " + line, wrapper])
    assert time.process_time() - began < 10 * MOST_SECONDS


@pytest.mark.parametrize("unit", UNITS)
def test_counting_what_the_last_lines_repeat_ends(unit: str) -> None:
    began = time.process_time()
    diagnose_lines([long_line(unit, 30_000)])
    assert time.process_time() - began < MOST_SECONDS, unit
