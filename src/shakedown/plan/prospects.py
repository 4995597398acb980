"""What runnable candidates can hold and reach, one entry for all that share a launch shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from shakedown.domain.candidate import Candidate
from shakedown.domain.facts import EngineFacts, LaunchShape, MachineFacts, ModelFacts
from shakedown.domain.workload import Workload
from shakedown.plan.capacity import Capacity, capacity_of
from shakedown.plan.ceiling import Ceiling, ceiling_of
from shakedown.plan.fact_table import Load
from shakedown.plan.outcome import PrunedCandidate

DOES_NOT_FIT = "does-not-fit"


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of the surroundings of one candidate."""

    model: ModelFacts | None
    machine: MachineFacts | None
    engine: EngineFacts


@dataclass(frozen=True, slots=True)
class Runnable:
    """A candidate with its launch shape and surroundings."""

    candidate: Candidate
    shape: LaunchShape
    seen: Seen


@dataclass(slots=True)
class Prospects:
    """Capacity and ceiling of all runnable candidates."""

    capacity: list[Capacity] = field(default_factory=list)
    ceiling: list[Ceiling] = field(default_factory=list)


def does_not_fit(runnable: Runnable, load: Load) -> PrunedCandidate | None:
    """Prune a candidate whose weights and longest request do not fit, with the arithmetic; None where they do."""
    model = runnable.seen.model
    if model is None:
        return None
    held = capacity_of(model, runnable.shape, runnable.seen.machine, request_tokens=load.request_tokens)
    short = held.kv_tokens is not None and held.kv_tokens < load.request_tokens
    if held.fits is not False and not short:
        return None
    reason = f"does not fit on {_place(held)}: {'; '.join(held.arithmetic)}"
    if short and held.fits:
        reason = f"{held.kv_tokens:,} tokens of cache are fewer than the {load.request_tokens:,} of one request: "
        reason += "; ".join(held.arithmetic)
    return PrunedCandidate(
        candidate=runnable.candidate,
        rule=DOES_NOT_FIT,
        reason=reason,
        sources=("arithmetic over the checkpoint's tensors and the memory of the machine",),
    )


def _place(held: Capacity) -> str:
    return f"{held.gpus} GPU{'s' if held.gpus > 1 else ''}" if held.gpus else "this machine"


def prospects_of(runnables: Iterable[Runnable], workloads: Sequence[Workload]) -> Prospects:
    """Work out capacity and ceiling for each distinct launch shape."""
    groups: dict[str, list[Runnable]] = {}
    for runnable in runnables:
        key = runnable.shape.model_dump_json() + str(id(runnable.seen.machine))
        groups.setdefault(key, []).append(runnable)
    load = Load.of(workloads)
    levels = sorted({level for workload in workloads for level in workload.concurrency})
    # A request's cache grows from its input to input and output: half of the output on average.
    context = max(workload.input_tokens + workload.output_tokens // 2 for workload in workloads)
    prospects = Prospects()
    for members in groups.values():
        first, ids = members[0], tuple(member.candidate.id for member in members)
        model, machine = first.seen.model, first.seen.machine
        if model is None:
            continue
        held = capacity_of(model, first.shape, machine, request_tokens=load.request_tokens)
        prospects.capacity.append(held.model_copy(update={"candidates": ids}))
        bound = ceiling_of(model, first.shape, machine, levels, context)
        if bound is not None:
            prospects.ceiling.append(bound.model_copy(update={"candidates": ids}))
    return prospects
