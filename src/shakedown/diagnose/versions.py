"""Version ranges of engines: ``>=0.5.9,<0.5.23``; llama.cpp builds (``b5452``) are versions of one number."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

_OPERATORS: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
_CLAUSE = re.compile(r"\s*(>=|<=|==|>|<)\s*b?(\d+(?:\.\d+)*)\s*")
_VERSION = re.compile(r"\D{0,2}?(\d+(?:\.\d+)*)")


def version_matches(range_text: str, version: str | None) -> bool:
    """Whether ``version`` lies in the range; an empty range holds for all, an unknown version lies in every range.

    Raises:
        ValueError: if the range is not a comma-separated list of comparisons.
    """
    clauses = [parse_clause(text) for text in range_text.split(",") if text.strip()]
    number = _VERSION.match(version) if version else None
    if number is None:
        return True
    present = _numbers(number.group(1))
    return all(_compare(name, present, bound) for name, bound in clauses)


def parse_clause(text: str) -> tuple[str, tuple[int, ...]]:
    """Read one comparison.

    Raises:
        ValueError: if it is none.
    """
    clause = _CLAUSE.fullmatch(text)
    if clause is None:
        raise ValueError(f"{text!r} is no version comparison such as '>=0.5.9'")
    return clause.group(1), _numbers(clause.group(2))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _compare(name: str, present: tuple[int, ...], bound: tuple[int, ...]) -> bool:
    length = max(len(present), len(bound))
    return _OPERATORS[name](_padded(present, length), _padded(bound, length))


def _padded(numbers: tuple[int, ...], length: int) -> tuple[int, ...]:
    return numbers + (0,) * (length - len(numbers))
