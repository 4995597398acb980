"""The space of candidates: the product of all dimensions over the engine's arguments and environment."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from shakedown.domain.base import ArgValue
from shakedown.domain.candidate import Candidate, EngineRef
from shakedown.domain.facts import LaunchShape
from shakedown.domain.spec import CampaignSpec, Dimension, Option

BASELINE = "baseline"
"""Label of the reference candidate."""

Resolve = Callable[[EngineRef], EngineRef]
"""Turns an engine as the campaign file names it into the one that is installed, its versions filled in."""


class EngineArguments(Protocol):
    """The part of an engine adapter that planning needs."""

    def canonical_args(self, args: Mapping[str, ArgValue]) -> dict[str, ArgValue]:
        """Return ``args`` under canonical names."""
        ...

    def launch_shape(self, args: Mapping[str, ArgValue]) -> LaunchShape:
        """Say what ``args`` mean for memory and speed."""
        ...


class Space(NamedTuple):
    """All candidates, the reference first, and what was left out."""

    candidates: list[Candidate]
    notes: list[str]
    """A sentence for each candidate that equals an earlier one."""


def enumerate_candidates(spec: CampaignSpec, engine: EngineArguments, resolve: Resolve) -> Space:
    """Build every combination of options; a combination that launches the same thing as an earlier one is left out.

    The first option of each dimension belongs to the reference, labelled ``baseline``; every other label names only
    the options that differ from it (``kv=q8_0 threads=2``).
    """
    candidates: dict[str, Candidate] = {}
    notes: list[str] = []
    for options in itertools.product(*(dimension.choices for dimension in spec.vary)):
        candidate = _candidate(spec, engine, resolve, options)
        twin = candidates.setdefault(candidate.id, candidate)
        if twin is not candidate:
            notes.append(f"{candidate.label} launches the same thing as {twin.label} and is left out")
    return Space(list(candidates.values()), notes)


def _candidate(spec: CampaignSpec, engine: EngineArguments, resolve: Resolve, options: Sequence[Option]) -> Candidate:
    reference = spec.engine_ref()
    args = engine.canonical_args(spec.engine.args)
    env = dict(spec.engine.env)
    for option in options:
        args |= engine.canonical_args(option.args)
        env |= option.env
        if option.python is not None or option.command is not None:
            reference = EngineRef(kind=reference.kind, python=option.python, command=option.command)
    return Candidate(
        engine=resolve(reference),
        model=spec.model_ref(),
        args=args,
        env=env,
        settings={dimension.name: option.label for dimension, option in zip(spec.vary, options, strict=True)},
        label=_label(spec.vary, options),
    )


def _label(dimensions: Sequence[Dimension], options: Sequence[Option]) -> str:
    changed = [
        f"{dimension.name}={option.label}"
        for dimension, option in zip(dimensions, options, strict=True)
        if option.label != dimension.choices[0].label
    ]
    return " ".join(changed) or BASELINE
