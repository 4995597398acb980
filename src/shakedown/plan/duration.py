"""The least time a campaign takes: reading weights and generating tokens at the ceiling. Real campaigns take longer."""

from __future__ import annotations

from shakedown.domain.spec import CampaignSpec
from shakedown.domain.workload import Workload
from shakedown.plan.ceiling import Ceiling
from shakedown.plan.outcome import Duration
from shakedown.plan.prospects import Prospects

_READ_BYTES_PER_S = 7e9
"""Weights from a fast NVMe drive (PCIe 4, sequential)."""
_ROUNDS = 4
"""Requests of a slot where the workload does not say how many a point has."""


def duration_of(spec: CampaignSpec, prospects: Prospects, candidates: int) -> Duration:
    """Add up launches and load points of ``candidates``; seconds only where every ceiling is known."""
    workloads = spec.workloads()
    points = sum(max(len(workload.concurrency), len(workload.request_rate)) for workload in workloads)
    repeats = spec.decide.repeats
    launches = candidates * spec.decide.launches
    known = {name for ceiling in prospects.ceiling for name in ceiling.candidates}
    seconds = None
    gpu_s = 0.0
    if candidates and len(known) == candidates:
        seconds = 0.0
        for ceiling in prospects.ceiling:
            held = next(entry for entry in prospects.capacity if entry.candidates == ceiling.candidates)
            boot = (held.weights_bytes or 0) * max(held.gpus, 1) / _READ_BYTES_PER_S
            one = boot + sum(_load_s(ceiling, workload, repeats) for workload in workloads)
            seconds += one * len(ceiling.candidates) * spec.decide.launches
            gpu_s += one * len(ceiling.candidates) * spec.decide.launches * held.gpus
    return Duration(
        launches=launches,
        load_points=launches * points * repeats,
        seconds=seconds,
        gpu_hours=gpu_s / 3600 if seconds is not None else None,
        assumptions=(
            f"weights are read at {_READ_BYTES_PER_S / 1e9:g} GB/s, nothing is compiled, tokens come at the ceiling",
            f"{_ROUNDS} requests for each slot where a workload does not say",
        ),
    )


def _load_s(ceiling: Ceiling, workload: Workload, repeats: int) -> float:
    """Seconds of one launch's load points; open-loop points last as long as the workload says."""
    if workload.request_rate:
        each = workload.duration_s or sum((workload.requests or 0) / rate for rate in workload.request_rate)
        return each * repeats
    seconds = 0.0
    for point in ceiling.points:
        if point.concurrency in workload.concurrency:
            requests = workload.requests or _ROUNDS * point.concurrency
            best = max(point.output_tokens_per_s, point.speculation.output_tokens_per_s if point.speculation else 0.0)
            seconds += workload.duration_s or requests * workload.output_tokens / best
    return seconds * repeats
