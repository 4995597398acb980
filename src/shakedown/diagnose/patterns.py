"""Failure patterns run on RE2: linear in the line, whatever the line is. And the literal each one cannot match without.

Python's own ``re`` can backtrack for ever on a hostile line. RE2 (https://github.com/google/re2/wiki/WhyRE2) cannot,
and finds several hundred literals at once at hundreds of megabytes a second, which makes gigabytes of log readable.
Everything is matched as bytes in Latin-1, so that no line is undecodable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Protocol

import re2

# Characters that stand for themselves; the last one before a quantifier is not among them.
_RUN = re.compile(r"""(?:(?:[^\\()\[\]{}|?*+.^$"]|\\[^\w\s"\\])(?![?*+{]))+""")
_ESCAPE = re.compile(r"\\(.)")
_GROUP_OPENING = re.compile(r"\((?:\?(?:P<\w+>|:))?")
_QUANTIFIER = re.compile(r"(?:[?*+]|\{(?P<least>\d+)(?:,\d*)?\})\??")
_SHORTEST_LITERAL = 4


class Match(Protocol):
    """What a search found."""

    def start(self) -> int:
        """Return the offset of the first byte."""
        ...

    def end(self) -> int:
        """Return the offset behind the last byte."""
        ...

    def groupdict(self) -> dict[bytes, bytes | None]:
        """Return the named captures."""
        ...


class Pattern(Protocol):
    """A compiled pattern over bytes."""

    @property
    def groupindex(self) -> Mapping[bytes, int]:
        """Return the names of the captures."""
        ...

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
    """Compile one pattern that finds any of the literals; each is as ``required_literals`` gave it."""
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


def required_literals(pattern: str) -> tuple[str, ...]:
    """Return texts of which every match of ``pattern`` contains at least one, as patterns (escaped, with case flag).

    Texts are cut at double quotes and backslashes, because a log line inside JSON has those escaped.

    Raises:
        PatternError: if some way of matching holds no text of four characters: the pattern must say more.
    """
    folded = pattern.startswith("(?i)")
    try:
        literals = _literals(pattern.removeprefix("(?i)"))
    except (IndexError, ValueError) as error:
        raise PatternError(f"{pattern!r} is no regular expression") from error
    if literals is None:
        raise PatternError(f"{pattern!r} can match without any text of {_SHORTEST_LITERAL} characters")
    escaped = [re2.escape(literal) for literal in literals]
    return tuple(f"(?i:{literal})" if folded else literal for literal in escaped)


def _literals(pattern: str) -> list[str] | None:
    """Return the literals of a pattern's best part, those of all its alternatives together; None if one has none."""
    together: list[str] = []
    for alternative in _alternatives(pattern):
        best = max(_choices(alternative), key=_worth, default=[""])
        if _worth(best) < _SHORTEST_LITERAL:
            return None
        together += best
    return together


def _worth(choice: Iterable[str]) -> int:
    return min(len(literal.strip()) for literal in choice)


def _alternatives(pattern: str) -> list[str]:
    """Split at the ``|`` that are outside groups and classes."""
    parts: list[str] = []
    start = at = 0
    while at < len(pattern):
        if pattern[at] == "|":
            parts.append(pattern[start:at])
            start = at = at + 1
        else:
            at = _behind_run_or_atom(pattern, at)
    return [*parts, pattern[start:]]


def _choices(sequence: str) -> list[list[str]]:
    """Return what a sequence must contain: each run of literal characters, and each group that is not optional."""
    choices: list[list[str]] = []
    run = ""
    at = 0
    while at < len(sequence):
        plain = _RUN.match(sequence, at)
        if plain is not None:
            run += _unescaped(plain[0])
            at = plain.end()
            continue
        behind = _behind_atom(sequence, at)
        atom = sequence[at:behind]
        least, at = _quantifier(sequence, behind)
        run += _literal(atom) * least
        if at > behind or not _literal(atom):
            choices.append([run])
            run = ""
        if atom.startswith("(") and least:
            inner = _literals(_GROUP_OPENING.sub("", atom[:-1], count=1))
            choices += [inner] if inner else []
    return [choice for choice in [*choices, [run]] if choice[0]]


def _literal(atom: str) -> str:
    """Return the character that an atom stands for, "" if it is not one character to look for."""
    return _unescaped(atom) if _RUN.fullmatch(atom) else ""


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(r"\1", text)


def _behind_run_or_atom(pattern: str, at: int) -> int:
    plain = _RUN.match(pattern, at)
    return plain.end() if plain is not None else _behind_atom(pattern, at)


def _behind_atom(pattern: str, at: int) -> int:
    if pattern[at] == "\\":
        return at + 2
    if pattern[at] == "(":
        return _behind_group(pattern, at)
    if pattern[at] == "[":
        return _behind_class(pattern, at)
    return at + 1


def _quantifier(pattern: str, at: int) -> tuple[int, int]:
    """Return how often the atom before ``at`` comes at least, and the offset behind its quantifier."""
    found = _QUANTIFIER.match(pattern, at)
    if found is None:
        return 1, at
    least = int(found["least"]) if found["least"] else int(found[0].startswith("+"))
    return least, found.end()


def _behind_class(pattern: str, at: int) -> int:
    at += 2 if pattern[at + 1] in "]^" else 1
    while pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1


def _behind_group(pattern: str, at: int) -> int:
    at += 1
    while pattern[at] != ")":
        at = _behind_run_or_atom(pattern, at)
    return at + 1
