"""Failure patterns run on RE2: linear in the line, whatever the line is. And the literal each one cannot match without.

Python's own ``re`` can backtrack for ever on a hostile line. RE2 (https://github.com/google/re2/wiki/WhyRE2) cannot,
and finds several hundred literals at once at hundreds of megabytes a second, which makes gigabytes of log readable.
Everything is matched as bytes in Latin-1, so that no line is undecodable.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Protocol

import re2

_CLASS_ESCAPES = frozenset("dDwWsSbBAzZpPQEC123456789")
_SHORTEST_LITERAL = 4


class Match(Protocol):
    """What a search found."""

    def start(self) -> int:
        """Return the offset of the first byte."""
        ...

    def end(self) -> int:
        """Return the offset behind the last byte."""
        ...

    def groupdict(self) -> dict[str, bytes | None]:
        """Return the named captures."""
        ...


class Pattern(Protocol):
    """A compiled pattern over bytes."""

    def search(self, text: bytes, pos: int = 0) -> Match | None:
        """Find the first match at or behind ``pos``."""
        ...


class PatternError(ValueError):
    """A pattern that RE2 does not take, or that has no literal to look for."""


@cache
def _options() -> re2.Options:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = 64 << 20  # the automaton of all literals together; RE2 grows it lazily
    return options


@cache
def compile_pattern(pattern: str) -> Pattern:
    """Compile a signature's pattern.

    Raises:
        PatternError: if RE2 does not take it (look-around and back-references are the usual reasons).
    """
    try:
        compiled: Pattern = re2.compile(pattern.encode(), _options())
    except re2.error as error:
        raise PatternError(f"{pattern!r}: {error}") from error
    return compiled


def any_of(literals: Sequence[str]) -> Pattern:
    """Compile one pattern that finds any of the literals; each is as ``required_literal`` gave it."""
    return compile_pattern("|".join(literals))


class LiteralSet:
    """Tells which of many literals a line holds, in one pass."""

    def __init__(self, literals: Sequence[str]) -> None:
        self._set = re2.Set.SearchSet(_options())
        for literal in literals:
            self._set.Add(literal.encode())
        self._set.Compile()

    def present(self, text: bytes) -> list[int]:
        """Return the indexes of the literals found in ``text``."""
        found: list[int] | None = self._set.Match(text)
        return found or []


def required_literal(pattern: str) -> str:
    """Return the longest text that every match of ``pattern`` contains, as a pattern (escaped, with its case flag).

    Only text outside groups, classes and optional parts counts, and it is cut at quotes and backslashes, because a log
    line inside JSON has those escaped.

    Raises:
        PatternError: if that leaves fewer than four characters: split the pattern, or say more.
    """
    folded = pattern.startswith("(?i)")
    runs = _literal_runs(pattern.removeprefix("(?i)"))
    longest = max(runs, key=len, default="")
    if len(longest.strip()) < _SHORTEST_LITERAL:
        raise PatternError(f"{pattern!r} has no literal of {_SHORTEST_LITERAL} characters outside groups")
    escaped: str = re2.escape(longest)
    return f"(?i:{escaped})" if folded else escaped


def _literal_runs(pattern: str) -> list[str]:
    runs: list[str] = []
    run = ""
    at = 0
    while at < len(pattern):
        literal, at = _next_atom(pattern, at)
        quantifier = pattern[at] if at < len(pattern) else ""
        if quantifier in ("?", "*", "{", "+"):
            if quantifier == "+" and literal:
                run += literal
            runs.append(run)
            run = ""
            at = _behind_quantifier(pattern, at)
        elif literal:
            run += literal
        else:
            runs.append(run)
            run = ""
    return [*runs, run]


def _next_atom(pattern: str, at: int) -> tuple[str, int]:
    """Return the literal character at ``at`` ("" if it is none) and the offset behind the atom."""
    character = pattern[at]
    if character == "\\":
        escaped = pattern[at + 1]
        return ("" if escaped in _CLASS_ESCAPES else escaped, at + 2)
    if character == "(":
        return "", _behind_group(pattern, at)
    if character == "[":
        return "", _behind_class(pattern, at)
    if character == "|":
        raise PatternError(f"{pattern!r}: alternatives at the top level belong into patterns of their own")
    return ("" if character in ".^$\"'\\" else character, at + 1)


def _behind_quantifier(pattern: str, at: int) -> int:
    at = pattern.index("}", at) + 1 if pattern[at] == "{" else at + 1
    return at + 1 if at < len(pattern) and pattern[at] == "?" else at


def _behind_class(pattern: str, at: int) -> int:
    at += 2 if pattern[at + 1 : at + 2] in ("]", "^") else 1
    while pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1


def _behind_group(pattern: str, at: int) -> int:
    depth = 0
    while True:
        character = pattern[at]
        if character == "\\":
            at += 2
            continue
        if character == "[":
            at = _behind_class(pattern, at)
            continue
        depth += {"(": 1, ")": -1}.get(character, 0)
        at += 1
        if depth == 0:
            return at
