"""What a strategy is: a pure function from everything known so far to the next launch.

A strategy keeps no state of its own. The campaign stores every launch; ``ask`` is given all of it each time, so any
strategy resumes after a kill and can be replayed by construction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from shakedown.domain.words import StrategyKind, Verdict

Purpose = Literal["reference", "explore", "confirm", "drift"]
"""Why a launch is asked for: the reference, a new combination, a contender again, the reference again."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A candidate as a strategy sees it: its id and the option it takes in each dimension."""

    id: str
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Observation:
    """What launches of one candidate have shown."""

    verdict: Verdict
    """Of its last launch; ``pruned`` and ``not_run`` never stand here."""
    ratios: tuple[float, ...] = ()
    """Objective as a ratio to the reference, one for each launch that was measured; above 1 is better."""
    interval: tuple[float, float] | None = None
    """Interval of the ratio at the campaign's confidence; None before it can be said."""


@dataclass(frozen=True, slots=True)
class SearchState:
    """Everything a strategy may know."""

    dimensions: Mapping[str, tuple[str, ...]]
    """Dimension name to option labels, the reference's first."""
    arms: tuple[Arm, ...]
    """Candidates that may be launched, in the order of the plan; pruned ones are not among them."""
    reference: str
    observations: Mapping[str, Observation] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    """Candidate ids of all launches so far, oldest first, repeats included."""
    margin: float = 0.02
    launches: int = 1
    """Launches a verdict between contenders should rest on."""
    launches_left: int | None = None
    """What the budget still allows; None: no limit."""
    seed: int = 0
    weights: Mapping[str, float] = field(default_factory=dict)
    """How much a dimension promises, from rules and the predicted ceiling; 1 where nothing is said. Positive."""
    interacting: frozenset[frozenset[str]] = frozenset()
    """Pairs of dimension names known to act together (speculation and KV dtype); they are searched together."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The next launch."""

    candidate: str
    purpose: Purpose


class Strategy(Protocol):
    """One way to choose."""

    kind: StrategyKind

    def ask(self, state: SearchState) -> Ask | None:
        """Give the next launch, or None when nothing more would change the verdict."""
        ...
