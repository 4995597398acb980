"""What a check is: one small object in ``shakedown.checks.ladder`` that asks a server and says what it saw.

A check decides one thing and is named after it. It returns an ``Outcome``; a server that stops answering raises
ClientError out of it, which the runner turns into that check's failure. A check that needs what the server, the engine
or the reference does not have is skipped and says why; it never guesses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Protocol

from shakedown.checks.reference import Reference
from shakedown.checks.samples import Sample, take_samples
from shakedown.checks.server import RefusedError, Server
from shakedown.domain.errors import ClientError
from shakedown.domain.trial import Gates
from shakedown.domain.words import CheckVerdict, GateLevel, Verdict
from shakedown.engines.base import Engine, Probe

LEVELS = (GateLevel.QUICK, GateLevel.STANDARD, GateLevel.THOROUGH)
"""From cheap to thorough."""


class Rung(IntEnum):
    """The ladder: a check runs after all checks of lower rungs have passed."""

    SANITY = 1
    """What no working model does."""
    LIKENESS = 2
    """What the reference does not do."""
    REPEATS = 3
    """The same prompt again: from the prefix cache."""
    CONCURRENCY = 4
    SELF_CONSISTENCY = 5
    REFERENCE = 6
    TASKS = 7
    INTERFACES = 8
    DETERMINISM = 9


class CannotTellError(Exception):
    """Raised by a check that needs what is not there; its message says what. The runner turns it into ``skipped``."""


@contextmanager
def needs(what: str) -> Iterator[None]:
    """Take a refusal (a status of 400 to 499) inside for "this server cannot do that": ``what`` says what is missing.

    Raises:
        CannotTellError: in place of the refusal.
    """
    try:
        yield
    except RefusedError as error:
        raise CannotTellError(f"{what} ({error})") from error


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
        return take_samples(self.server, 8 if self.at_least(GateLevel.STANDARD) else 4)

    @cached_property
    def effective(self) -> Mapping[str, object]:
        """The settings the server says it runs with; empty where the engine is unknown."""
        if self.engine is None:
            return {}
        return self.engine.effective_settings([self._told(probe) for probe in self.engine.info_probes], ())

    def _told(self, probe: Probe) -> Mapping[str, object] | None:
        try:
            return self.server.probe(probe)
        except ClientError:
            return None

    @property
    def known_engine(self) -> Engine:
        """The engine's adapter.

        Raises:
            CannotTellError: if the engine is unknown.
        """
        if self.engine is None:
            raise CannotTellError("the engine is unknown, so log-probabilities of token ids cannot be asked for")
        return self.engine

    def token_ids(self, text: str) -> list[int]:
        """Token ids of ``text`` as a prompt, the model's first token in front.

        Raises:
            CannotTellError: if the server has no tokenizer endpoint.
        """
        ids = self.server.tokenize(text, special=True)
        if ids is None:
            raise CannotTellError("the server has no tokenizer endpoint")
        return ids

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
            CannotTellError: if something that it needs is missing.
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
