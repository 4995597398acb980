"""What a campaign ends in: one file a kind of finding, found by itself.

Every module here whose name does not begin with an underscore has ``KIND`` (the ``FindingKind`` that names the file)
and ``find(judged)``, which gives its findings. The contract suite asks of each a campaign in which it appears and one
in which it does not (``tests/unit/judge/cases/<kind>.py``).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache
from typing import Protocol, cast

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.view import Judged


class Rule(Protocol):
    """A module of this package."""

    KIND: FindingKind

    def find(self, judged: Judged) -> Iterable[Finding]:
        """Give the findings of this kind, each a sentence with its evidence and a change to make."""
        ...


@cache
def rules() -> dict[FindingKind, Rule]:
    """All kinds of findings, in the order of the vocabulary."""
    names = [info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_")]
    modules = [cast("Rule", importlib.import_module(f"{__name__}.{name}")) for name in names]
    found = {module.KIND: module for module in modules}
    return {kind: found[kind] for kind in FindingKind if kind in found}


def find_all(judged: Judged) -> tuple[Finding, ...]:
    """Everything there is to say of a campaign."""
    return tuple(finding for rule in rules().values() for finding in rule.find(judged))
