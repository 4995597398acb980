"""Where the time goes, and what would move it, in order."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.metric import PointSummary
from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.bottleneck import Bound, Level, level_of
from shakedown.judge.caps import cap_of
from shakedown.judge.evidence import Ceiling
from shakedown.judge.merit import counts
from shakedown.judge.settings import asks_for_speculation
from shakedown.judge.view import Judged
from shakedown.judge.wording import listed

KIND = FindingKind.BOTTLENECK


def find(judged: Judged) -> Iterator[Finding]:
    """One finding for the winner and each workload, where its measurements or the roofline tell."""
    if judged.winner is None:
        return
    for workload in judged.evidence.workloads:
        levels = _levels(judged, judged.winner, workload.name)
        told = [level for level in levels if level.bound is not None]
        if told:
            yield Finding(
                kind=KIND,
                summary=f"Where the time goes in {judged.label(judged.winner)} on {workload.name}: {_sentence(told)}.",
                evidence={"workload": workload.name, "by_concurrency": [_row(level) for level in levels]},
                candidates=(judged.winner,),
                advice=_advice(judged, told, workload.name),
            )


def _levels(judged: Judged, candidate_id: str, workload: str) -> list[Level]:
    by_level: dict[int, list[PointSummary]] = {}
    for point in judged.points(candidate_id):
        if point.workload == workload and point.concurrency is not None and point.ok and counts(point):
            by_level.setdefault(point.concurrency, []).append(point)
    cap = cap_of(judged, candidate_id)
    return [
        level_of(points, at, cap[0] if cap else None, _ceiling(judged, candidate_id, workload, at))
        for at, points in sorted(by_level.items())
    ]


def _ceiling(judged: Judged, candidate_id: str, workload: str, concurrency: int) -> Ceiling | None:
    wanted = (judged.planned_as(candidate_id), workload, concurrency)
    return next(
        (c for c in judged.evidence.ceilings if (c.candidate_id, c.workload, c.concurrency) == wanted),
        None,
    )


def _sentence(levels: list[Level]) -> str:
    """Levels that are bound alike in one clause, with the reasons at the first two of them."""
    groups: dict[Bound, list[Level]] = {}
    for level in levels:
        assert level.bound is not None
        groups.setdefault(level.bound, []).append(level)
    return "; ".join(
        f"at concurrency {listed([str(level.concurrency) for level in group])} it is bound by {bound} "
        f"({_reasons(group[:2])})"
        for bound, group in groups.items()
    )


def _reasons(levels: list[Level]) -> str:
    different = len({level.why for level in levels}) > 1
    return "; ".join(
        dict.fromkeys(f"{level.why} at {level.concurrency}" if different else level.why for level in levels)
    )


def _row(level: Level) -> dict[str, object]:
    return {
        "concurrency": level.concurrency,
        "bound": level.bound.name.lower() if level.bound else None,
        "why": level.why,
        "step_s": level.step_s,
        "bound_step_s": level.bound_step_s,
        "memory_share": level.memory_share,
        "links_share": list(level.links_share) if level.links_share else None,
    }


_LEVERS = {
    Bound.CLIENT: "give the load generator its own cores, then measure again",
    Bound.CAPACITY: "raise the limit of running requests, or the memory of caches and states, up to the load",
    Bound.MEMORY: "let each read of the weights serve more tokens (drafts, more requests at once), then read fewer "
    "bytes (smaller weight or cache types, gated for accuracy)",
    Bound.SCHEDULER: "keep CUDA graphs and overlapped scheduling on, and give the scheduler a free, pinned core",
    Bound.KERNELS: "try other attention, MoE and GEMM backends: neither bytes nor all-reduces explain the step",
}


def _advice(judged: Judged, levels: list[Level], workload: str) -> str:
    """Levers for what limits, the one that limits most levels first."""
    bounds = [level.bound for level in levels if level.bound is not None]
    ordered = sorted(dict.fromkeys(bounds), key=lambda bound: -bounds.count(bound))
    told = [_links(judged, workload) if bound is Bound.LINKS else _LEVERS[bound] for bound in ordered]
    told = [f"{number}. {text}" for number, text in enumerate(told, 1)] if len(told) > 1 else told
    sentence = "; ".join(told)
    return sentence[0].upper() + sentence[1:] + "."


def _links(judged: Judged, workload: str) -> str:
    assert judged.winner is not None
    ways = {way for c in judged.evidence.ceilings if c.workload == workload for way in c.all_reduce_ways}
    levers = [] if asks_for_speculation(judged.records[judged.winner].candidate) else ["draft several tokens a step"]
    if ways:
        name, seconds = min(ways, key=lambda way: way[1])
        levers.append(f"do the all-reduces another way ({name}: {1e3 * seconds:.2g} ms a step)")
    return ", then ".join([*levers, "put fewer GPUs into a tensor-parallel group"])
