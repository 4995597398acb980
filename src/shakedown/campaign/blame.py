"""A failure that no signature knows, in a candidate that changes several things: which of them is to blame.

Each is dropped alone, as ``diagnose.bundle`` says: one dimension of several, or one flag of an option with several.
What is dropped takes the reference's value again; what that makes is often a candidate of the space. Nothing is
remembered but what the store holds, so that a killed campaign goes on. Bounded: a failure is searched once, whoever
fails with it, and few failures of a campaign are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from shakedown.campaign.enrol import candidate_record
from shakedown.diagnose.bundle import Culprit, Drop, next_drop
from shakedown.domain.candidate import Candidate
from shakedown.domain.failure import Failure
from shakedown.domain.record import CandidateRecord
from shakedown.domain.spec import CampaignSpec, Dimension, Option
from shakedown.domain.words import Verdict
from shakedown.engines.base import Engine
from shakedown.store.campaign_store import CampaignStore

DROPPED = "dropped-one"
"""In place of a signature's id: what made a candidate that lacks something of another."""
MOST_SEARCHES = 3
"""Failures of one campaign that are searched for their culprit."""
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Probe:
    """A candidate to launch because it lacks one thing of one that failed."""

    record: CandidateRecord
    parent: str
    """Label of the candidate that failed."""
    without: str
    is_new: bool


def seek(spec: CampaignSpec, engine: Engine, store: CampaignStore) -> Probe | None:
    """Return the next launch that brings a culprit nearer; write down each culprit that is found.

    None: no failure is unexplained, or the reference does not start, so that no difference from it can be blamed.
    """
    scene = _Scene(spec, engine, store)
    for record, failure, parts in scene.searches():
        variants = {part: scene.without(record.candidate, flags, part) for part, flags in parts.items()}
        tried = {part: scene.started(variant) for part, variant in variants.items()}
        outcomes = {part: started for part, started in tried.items() if started is not None}
        step = next_drop(list(parts), outcomes, suspects=[part for part in parts if _named(parts[part], failure)])
        if isinstance(step, Drop):
            return _probe(engine, store, record, variants[step.dimension], step.dimension)
        found = f"without {step.dimension} it starts" if isinstance(step, Culprit) else step.reason
        launches = f"{len(outcomes)} launch{'' if len(outcomes) == 1 else 'es'}"
        reason = f"unknown failure, {launches} with one thing dropped: {found}"
        if record.reason != reason:
            store.put_candidate(record.model_copy(update={"reason": reason}))
    return None


def _probe(engine: Engine, store: CampaignStore, parent: CandidateRecord, variant: Candidate, part: str) -> Probe:
    known = store.candidate(variant.id)
    record = known or candidate_record(variant, engine, store)
    if known is None:
        store.put_candidate(record)
    return Probe(record, parent.candidate.label, part, is_new=known is None)


Parts = Mapping[str, frozenset[str]]
"""What a candidate changes against the reference: a dimension or a flag, to the arguments and variables it sets."""


class _Scene:
    """What the store holds, as far as blame goes."""

    def __init__(self, spec: CampaignSpec, engine: Engine, store: CampaignStore) -> None:
        self._spec = spec
        self._engine = engine
        self._records = {record.candidate.id: record for record in store.candidates()}
        trials = [trial for trial in store.trials() if trial.state == "finished"]
        self._outcomes = {trial.candidate_id: trial.outcome for trial in trials if trial.outcome is not None}
        first = {dimension.name: dimension.choices[0].label for dimension in spec.vary}
        self._reference = next(
            (record.candidate for record in self._records.values() if record.candidate.settings == first), None
        )

    def started(self, candidate: Candidate) -> bool | None:
        """Whether a candidate started; None: not launched. One that a rule pruned is known not to."""
        outcome, record = self._outcomes.get(candidate.id), self._records.get(candidate.id)
        if outcome is not None:
            return outcome.verdict is not Verdict.FAILED
        return False if record is not None and record.verdict is Verdict.PRUNED else None

    def searches(self) -> list[tuple[CandidateRecord, Failure, Parts]]:
        """The first candidate of each unknown failure, unless a single change alone fails in that way too."""
        if self._reference is None or not self.started(self._reference):
            return []
        found: dict[str, tuple[CandidateRecord, Failure, Parts]] = {}
        explained: set[str] = set()
        for candidate_id, outcome in self._outcomes.items():
            record, failure = self._records[candidate_id], outcome.failure
            if outcome.verdict is not Verdict.FAILED or failure is None or failure.signature is not None:
                continue
            parts = self._parts(record.candidate)
            if len(parts) < 2:
                explained.add(_kind(failure))
            elif record.candidate.remedy is None:
                found.setdefault(_kind(failure), (record, failure, parts))
        return [search for kind, search in found.items() if kind not in explained][:MOST_SEARCHES]

    def without(self, candidate: Candidate, flags: frozenset[str], part: str) -> Candidate:
        """The candidate with the reference's value of all ``flags``."""
        reference = self._reference
        assert reference is not None
        choice = self._choice(candidate, part)
        brings_build = choice is not None and (choice.python is not None or choice.command is not None)
        settings = {**candidate.settings, part: reference.settings[part]} if choice else candidate.settings
        return candidate.model_copy(
            update={
                "engine": reference.engine if brings_build else candidate.engine,
                "args": _restored(candidate.args, reference.args, flags),
                "env": _restored(candidate.env, reference.env, flags),
                "settings": settings,
                "label": f"{candidate.label} without {part}",
                "derived_from": candidate.id,
                "remedy": DROPPED,
            }
        )

    def _parts(self, candidate: Candidate) -> Parts:
        assert self._reference is not None
        changed = [
            dimension
            for dimension in self._spec.vary
            if candidate.settings.get(dimension.name) != self._reference.settings.get(dimension.name)
        ]
        if len(changed) != 1:
            return {dimension.name: self._flags(dimension, candidate) for dimension in changed}
        return {flag: frozenset({flag}) for flag in sorted(self._flags(changed[0], candidate))}

    def _flags(self, dimension: Dimension, candidate: Candidate) -> frozenset[str]:
        chosen = (self._choice(candidate, dimension.name), dimension.choices[0])
        return frozenset(
            name
            for option in chosen
            if option is not None
            for name in (*self._engine.canonical_args(option.args), *option.env)
        )

    def _choice(self, candidate: Candidate, dimension: str) -> Option | None:
        return next(
            (
                option
                for member in self._spec.vary
                if member.name == dimension
                for option in member.choices
                if option.label == candidate.settings.get(dimension)
            ),
            None,
        )


def _restored(mine: Mapping[str, V], theirs: Mapping[str, V], names: frozenset[str]) -> dict[str, V]:
    kept = {name: value for name, value in mine.items() if name not in names}
    return kept | {name: value for name, value in theirs.items() if name in names}


def _kind(failure: Failure) -> str:
    """What two failures have in common that tell of the same, whatever their numbers."""
    return re.sub(r"\d+", "", failure.title)


def _named(flags: frozenset[str], failure: Failure) -> bool:
    said = f"{failure.root_line} {failure.title}".replace("_", "-").lower()
    return any(flag.replace("_", "-").lower() in said for flag in flags)
