"""What planning gives: candidates to run, those that cannot work with the reason, warnings."""

from __future__ import annotations

from pydantic import Field

from shakedown.domain.base import ArgValue, Value
from shakedown.domain.candidate import Candidate
from shakedown.plan.capacity import Capacity
from shakedown.plan.ceiling import Ceiling


class PrunedCandidate(Value):
    """A candidate that cannot work as it stands."""

    candidate: Candidate
    rule: str
    """Id of a rule, or of what needs no rule: ``engine-rejects``, ``engine-has-no-such-flag``,
    ``engine-refuses-the-value``, ``does-not-fit``."""
    also: tuple[str, ...] = ()
    """Further rules that hold; their reasons are in ``reason``."""
    reason: str
    sources: tuple[str, ...] = ()
    completed: str | None = None
    """Id of the candidate that adds what the engine demands; None where nothing would help."""


class PlanWarning(Value):
    """Something to know before it is measured, and the candidates it concerns."""

    rule: str
    title: str
    reason: str
    sources: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    """Facts that are not known here; with them the rule would prune, complete or stay silent."""


class Duration(Value):
    """The least a campaign takes; what it will take is not known before a launch."""

    launches: int
    load_points: int
    seconds: float | None
    """None where the ceiling, and with it the time to generate the tokens, is not known."""
    gpu_hours: float | None
    assumptions: tuple[str, ...] = ()


class Plan(Value):
    """What ``shakedown plan --json`` prints."""

    candidates: tuple[Candidate, ...]
    """To run, in this order; the reference first where it can run."""
    pruned: tuple[PrunedCandidate, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()
    notes: tuple[str, ...] = Field(default=())
    """Duplicates left out and other remarks, a sentence each."""
    capacity: tuple[Capacity, ...] = ()
    """What fits, one entry for all candidates that share a launch shape."""
    ceiling: tuple[Ceiling, ...] = ()
    """The hardware's bound, likewise; empty where weights or chips are not known."""
    at_least: Duration | None = None
    expected: dict[str, dict[str, ArgValue | None]] = Field(default_factory=dict)
    """Effective values by candidate id, as the engine's own resolution gives them; empty where it was not asked."""

    def document(self) -> dict[str, object]:
        """The plan as JSON values; candidates carry their ids, pruned ones are candidates with rule and reason."""
        content: dict[str, object] = self.model_dump(mode="json")
        content["candidates"] = [_identified(candidate) for candidate in self.candidates]
        content["pruned"] = [
            {**_identified(entry.candidate), **entry.model_dump(mode="json", exclude={"candidate"})}
            for entry in self.pruned
        ]
        return content


def _identified(candidate: Candidate) -> dict[str, object]:
    return {"id": candidate.id, **candidate.model_dump(mode="json")}
