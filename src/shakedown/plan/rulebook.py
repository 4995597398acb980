"""Rules: what is known beforehand of combinations that cannot work, need something more, or do less than they seem.

Each rule is one file ``rules/<id>.toml`` with its own positive and negative cases; all are found by themselves.
How to write one: docs/how-to-add-a-rule.md.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from pydantic import Field, model_validator

from shakedown.domain.base import ArgValue, Value
from shakedown.domain.words import EngineKind
from shakedown.plan.conditions import Condition, FactTable, Truth, every, unknown_facts
from shakedown.plan.versions import in_range


class RuleVerdict(StrEnum):
    """What follows when a rule's conditions hold."""

    PRUNE = "prune"
    WARN = "warn"
    COMPLETE = "complete"
    """Pruned as it stands; derives a candidate with what the engine demands."""


class Completion(Value):
    """What to add, in the campaign file's spelling."""

    args: dict[str, ArgValue] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)
    remove_args: tuple[str, ...] = ()
    rename: dict[str, str] = Field(default_factory=dict)
    """Old argument name to new one; the value is kept."""


class Case(Value):
    """A worked example of a rule: ``facts`` that are not named are unknown; ``expect`` is what must come out."""

    name: str
    expect: str = Field(pattern="^(prune|warn|complete|nothing|unknown)$")
    engine: EngineKind
    version: str | None = None
    facts: dict[str, ArgValue] = Field(default_factory=dict)


class Rule(Value):
    """One rule."""

    id: str
    title: str
    verdict: RuleVerdict
    engines: tuple[EngineKind, ...] = ()
    """Empty: every engine."""
    versions: str = ""
    """Range of engine versions it was read in, such as ``>=0.5.10,<0.6``; empty: every version."""
    quiet: bool = False
    """Not knowing is the normal case: say nothing where the rule cannot be decided."""
    when: tuple[Condition, ...] = Field(min_length=1)
    reason: str
    """A sentence or two for a person; ``{arg.tp-size}`` is replaced by the fact's value."""
    complete: Completion | None = None
    sources: tuple[str, ...] = Field(min_length=1)
    case: tuple[Case, ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _completes_something(self) -> Rule:
        if (self.verdict is RuleVerdict.COMPLETE) != (self.complete is not None):
            raise ValueError("a rule has [complete] if and only if its verdict is complete")
        return self

    def applies_to(self, kind: EngineKind, version: str | None) -> Truth:
        """Whether the rule speaks of this engine at this version; unknown where the version is."""
        if self.engines and kind not in self.engines:
            return False
        return in_range(version, self.versions)

    def judge(self, kind: EngineKind, version: str | None, table: FactTable) -> Truth:
        """Whether the rule's conditions hold here."""
        return every([self.applies_to(kind, version), *(condition.holds(table) for condition in self.when)])

    def unknowns(self, version: str | None, table: FactTable) -> list[str]:
        """What would have to be known to decide, as fact names."""
        missing = unknown_facts(self.when, table)
        return [*missing, "engine.version"] if in_range(version, self.versions) is None else missing

    def explain(self, table: FactTable) -> str:
        """The reason with the facts of this case filled in."""
        return re.sub(r"\{([a-z][\w.-]*)\}", lambda match: _shown(table.get(match[1])), self.reason)


def _shown(value: ArgValue | None) -> str:
    return "unset" if value is None else str(value)


@cache
def rules() -> tuple[Rule, ...]:
    """Return every rule of the package, by id."""
    folder = files("shakedown.plan") / "rules"
    found = [_read(entry) for entry in folder.iterdir() if entry.name.endswith(".toml")]
    return tuple(sorted(found, key=lambda rule: rule.id))


def _read(entry: Traversable) -> Rule:
    content = tomllib.loads(entry.read_text(encoding="utf-8"))
    return Rule.model_validate({"id": entry.name.removesuffix(".toml"), **content})


def rules_for(kind: EngineKind, version: str | None) -> Sequence[Rule]:
    """Return the rules that speak of this engine at this version, or may where the version is unknown."""
    return [rule for rule in rules() if rule.applies_to(kind, version) is not False]
