"""What a check is: one small object in ``shakedown.checks.ladder`` that asks a server and says what it saw.

A check decides one thing and is named after it. It returns an ``Outcome``; a server that stops answering raises
ClientError out of it, which the runner turns into that check's failure. A check that needs what the server, the engine
or the reference does not have says ``skip`` and why; it never guesses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Protocol

from shakedown.checks.reference import Reference
from shakedown.checks.samples import Sample, take_samples
from shakedown.checks.server import Server
from shakedown.domain.trial import Gates
from shakedown.domain.words import CheckVerdict, GateLevel, Verdict
from shakedown.engines.base import Engine

LEVELS = (GateLevel.QUICK, GateLevel.STANDARD, GateLevel.THOROUGH)
"""From cheap to thorough."""


class Rung(IntEnum):
    """The ladder: a check runs after all checks of lower rungs have passed."""

    SANITY = 1
    CONCURRENCY = 2
    SELF_CONSISTENCY = 3
    REFERENCE = 4
    TASKS = 5
    INTERFACES = 6
    DETERMINISM = 7


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check saw. ``evidence`` holds JSON values only."""

    verdict: CheckVerdict
    summary: str
    evidence: Mapping[str, object] = field(default_factory=dict)


@dataclass
class Context:
    """What checks share: the server, what is known of it, and the reference on either side.

    ``reference`` is what to compare with. ``draft`` collects what this server's own reference will hold; it is None
    unless one is being written.
    """

    server: Server
    engine: Engine | None
    gates: Gates
    reference: Reference | None = None
    draft: dict[str, object] | None = None

    @cached_property
    def samples(self) -> list[Sample]:
        """Short sampled answers to unlike openings, asked for once and looked at by several checks."""
        return take_samples(self.server, 8 if self.at_least(GateLevel.STANDARD) else 6)

    @cached_property
    def effective(self) -> Mapping[str, object]:
        """The settings the server says it runs with; empty where the engine is unknown."""
        if self.engine is None:
            return {}
        answers = [self.server.get(probe.path) for probe in self.engine.info_probes if probe.method == "GET"]
        return self.engine.effective_settings(answers, ())

    def at_least(self, level: GateLevel) -> bool:
        """Whether the gates are as thorough as ``level``."""
        return LEVELS.index(self.gates.level) >= LEVELS.index(level)

    def record(self, **parts: object) -> None:
        """Keep parts for the reference that is being written, if one is."""
        if self.draft is not None:
            self.draft.update(parts)


class Check(Protocol):
    """One check. ``level`` is the least level that runs it; ``fails_as`` becomes the candidate's verdict."""

    name: str
    rung: Rung
    level: GateLevel
    fails_as: Verdict

    def run(self, context: Context) -> Outcome:
        """Ask the server and judge.

        Raises:
            ClientError: if the server gives no usable answer where a working one would.
        """
        ...


def passed(summary: str, **evidence: object) -> Outcome:
    """The server did what it should."""
    return Outcome(CheckVerdict.PASS, summary, evidence)


def failed(summary: str, **evidence: object) -> Outcome:
    """The server did not do what it should."""
    return Outcome(CheckVerdict.FAIL, summary, evidence)


def skipped(summary: str, **evidence: object) -> Outcome:
    """Nothing can be said, and why."""
    return Outcome(CheckVerdict.SKIPPED, summary, evidence)
