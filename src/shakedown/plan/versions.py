"""Version ranges of rules: plain comparison of release numbers."""

from __future__ import annotations

import operator
import re

_COMPARE = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "==": operator.eq}
_CLAUSE = re.compile(r"(>=|<=|==|>|<)\s*(\d+(?:\.\d+)*)")


def release_of(version: str) -> tuple[int, ...] | None:
    """Read the leading release numbers (``0.5.10.post2`` gives (0, 5, 10)); None where there are none."""
    match = re.match(r"[vb]?(\d+(?:\.\d+)*)", version)
    return tuple(int(part) for part in match.group(1).split(".")) if match else None


def in_range(version: str | None, clauses: str) -> bool | None:
    """Say whether ``version`` satisfies all of ``clauses`` (``>=0.5.10,<0.6``); None where the version is unknown.

    Raises:
        ValueError: if ``clauses`` is not a comma-separated list of comparisons.
    """
    if not clauses.strip():
        return True
    release = release_of(version) if version else None
    outcomes = []
    for clause in clauses.split(","):
        match = _CLAUSE.fullmatch(clause.strip())
        if match is None:
            raise ValueError(f"{clause.strip()!r} is not a comparison such as '>=0.5.10'")
        if release is not None:
            limit = tuple(int(part) for part in match.group(2).split("."))
            width = max(len(limit), len(release))
            outcomes.append(_COMPARE[match.group(1)](_padded(release, width), _padded(limit, width)))
    return all(outcomes) if release is not None else None


def _padded(release: tuple[int, ...], width: int) -> tuple[int, ...]:
    return release + (0,) * (width - len(release))
