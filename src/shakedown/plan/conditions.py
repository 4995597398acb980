"""Conditions of rules over a flat table of facts, in three-valued logic: what is not known is neither true nor false.

Facts beginning with ``arg.`` or ``env.`` are always known: one that is not in the table was not given. Any other fact
that is not in the table is unknown, and a condition on it is unknown too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from pydantic import Field, model_validator

from shakedown.domain.base import ArgValue, Scalar, Value

FactTable = Mapping[str, ArgValue | None]
"""Fact name to value; None: known not to be there."""

Truth = bool | None
"""None: unknown."""


class Condition(Value):
    """One test of one fact, or ``any`` of several conditions. All operators that are given must hold."""

    fact: str | None = None
    default: Scalar | None = None
    """Value of the fact where it is not given."""
    is_: Scalar | None = Field(default=None, alias="is")
    is_not: Scalar | None = None
    one_of: tuple[Scalar, ...] | None = Field(default=None, alias="in")
    not_in: tuple[Scalar, ...] | None = None
    given: bool | None = None
    """Whether the fact is there at all, whatever its value."""
    at_least: float | None = None
    below: float | None = None
    multiple_of: str | None = None
    """Name of another fact that must divide this one."""
    not_multiple_of: str | None = None
    more_than: str | None = None
    """Name of another fact that is smaller than this one."""
    any_of: tuple[Condition, ...] = Field(default=(), alias="any")

    @model_validator(mode="after")
    def _one_kind(self) -> Condition:
        tests = self._tests()
        if bool(self.any_of) == bool(self.fact):
            raise ValueError("a condition names a fact or lists any = [...], not both")
        if self.fact and not tests:
            raise ValueError(f"the condition on {self.fact} tests nothing")
        return self

    def _tests(self) -> list[str]:
        return [name for name in self.model_fields_set if name not in {"fact", "default", "any_of"}]

    def facts(self) -> set[str]:
        """Every fact that the condition reads."""
        named = {self.fact, self.multiple_of, self.not_multiple_of, self.more_than} - {None}
        return {str(name) for name in named}.union(*(inner.facts() for inner in self.any_of))

    def holds(self, table: FactTable) -> Truth:
        """Evaluate against a table."""
        if self.any_of:
            return either([inner.holds(table) for inner in self.any_of])
        assert self.fact is not None
        if not _is_known(self.fact, table):
            return None
        value = table.get(self.fact)
        value = self.default if value is None else value
        return every(
            [
                self._simple(value),
                _compared(value, self.multiple_of, table, lambda own, other: own % other == 0),
                _compared(value, self.not_multiple_of, table, lambda own, other: own % other != 0),
                _compared(value, self.more_than, table, lambda own, other: own > other),
            ]
        )

    def _simple(self, value: ArgValue | None) -> bool:
        one = normal(value)
        number = one if isinstance(one, float) else None
        return all(
            (
                self.is_ is None or one == normal(self.is_),
                self.is_not is None or one != normal(self.is_not),
                self.one_of is None or one in {normal(item) for item in self.one_of},
                self.not_in is None or one not in {normal(item) for item in self.not_in},
                self.given is None or (value is not None) == self.given,
                self.at_least is None or (number is not None and number >= self.at_least),
                self.below is None or (number is not None and number < self.below),
            )
        )


def _compared(
    value: ArgValue | None, other: str | None, table: FactTable, test: Callable[[float, float], bool]
) -> Truth:
    """Compare with another fact; unknown where that one is, false where either is no number."""
    if other is None:
        return True
    if not _is_known(other, table):
        return None
    own, limit = normal(value), normal(table.get(other))
    return isinstance(own, float) and isinstance(limit, float) and limit != 0 and test(own, limit)


def every(truths: Sequence[Truth]) -> Truth:
    """Conjunction: false wins over unknown."""
    if False in truths:
        return False
    return None if None in truths else True


def either(truths: Sequence[Truth]) -> Truth:
    """Disjunction: true wins over unknown."""
    if True in truths:
        return True
    return None if None in truths else False


def unknown_facts(conditions: Sequence[Condition], table: FactTable) -> list[str]:
    """Names of the facts that keep ``conditions`` from being decided."""
    undecided = [condition for condition in conditions if condition.holds(table) is None]
    return sorted({name for condition in undecided for name in condition.facts() if not _is_known(name, table)})


def normal(value: ArgValue | None) -> float | str | None:
    """One form for values that mean the same: ``8``, ``8.0`` and ``"8"``; ``true`` and ``"True"``; any case."""
    if value is None:
        return None
    if isinstance(value, list):
        return ",".join(str(normal(item)) for item in value)
    text = str(value).lower()
    return float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else text


def _is_known(fact: str, table: FactTable) -> bool:
    return fact in table or fact.startswith(("arg.", "env."))
