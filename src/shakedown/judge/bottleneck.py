"""What a decode step waits for, from measurements and the roofline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from shakedown.domain.metric import PointSummary
from shakedown.judge.evidence import Ceiling
from shakedown.judge.speculation import observe

KV_FULL = 0.95
"""Share of the KV cache from which on requests wait for it."""
IDLE = 0.7
"""GPU utilisation under which it waits for the CPU: NVML counts any kernel, so a busy step shows nearly 1."""
LARGE = 0.3
"""Share of a step that makes its all-reduces the bottleneck."""
MOST = 0.5
"""Share of a step that makes reading weights and caches its bottleneck: with less, faster memory gains little."""


class Bound(StrEnum):
    """What limits a load point."""

    CLIENT = "the client"
    CAPACITY = "capacity"
    LINKS = "the links between the GPUs"
    MEMORY = "memory bandwidth"
    SCHEDULER = "the CPU that feeds the GPU"
    KERNELS = "kernels"


@dataclass(frozen=True, slots=True)
class Level:
    """One load level. Shares are of the measured step; None where the plan has no roofline.

    Attributes:
        concurrency: of the points.
        bound: what limits it; None where nothing tells.
        why: the measurement that says so, in a clause.
        step_s: measured time of a decode step.
        bound_step_s: the roofline's.
        memory_share: reading weights and caches once.
        links_share: all-reduces, by the fastest and by the slowest reported way.
    """

    concurrency: int
    bound: Bound | None
    why: str
    step_s: float | None = None
    bound_step_s: float | None = None
    memory_share: float | None = None
    links_share: tuple[float, float] | None = None


def level_of(points: Sequence[PointSummary], concurrency: int, cap: int | None, ceiling: Ceiling | None) -> Level:
    """Say what limits the points of one load level.

    What is outside the step comes first: a client or a queue that limits hides everything behind it.
    """
    if all(point.client.limited for point in points):
        return Level(concurrency, Bound.CLIENT, "the load generator was late or busy in every repeat")
    waiting = _capacity(points, concurrency, cap)
    step_s = _step_s(points)
    if waiting is not None:
        return Level(concurrency, Bound.CAPACITY, waiting, step_s)
    idle = _idle(points)
    if step_s is None or ceiling is None or ceiling.step_s is None or not ceiling.reading_s:
        why = f"the GPUs were busy {100 * idle:.0f} % of the time" if idle is not None else ""
        return Level(concurrency, Bound.SCHEDULER if idle is not None else None, why, step_s)
    memory = min(ceiling.reading_s / step_s, 1.0)
    costs = [seconds for _, seconds in ceiling.all_reduce_ways] or [ceiling.all_reduce_s or 0.0]
    links = min(min(costs) / step_s, 1.0), min(max(costs) / step_s, 1.0)
    bound, why = _inside(step_s, ceiling, memory, links, idle)
    return Level(concurrency, bound, why, step_s, ceiling.step_s, memory, links)


def _inside(
    step_s: float, ceiling: Ceiling, memory: float, links: tuple[float, float], idle: float | None
) -> tuple[Bound, str]:
    if memory >= MOST and memory >= links[0]:
        return Bound.MEMORY, f"reading weights and caches once takes {100 * memory:.0f} % of a step"
    if links[1] >= LARGE:
        share = f"{100 * links[0]:.0f} to {100 * links[1]:.0f} %"
        return Bound.LINKS, f"{ceiling.all_reduces} all-reduces take {share} of a step, by the way they are done"
    if idle is not None:
        return Bound.SCHEDULER, f"the GPUs were busy {100 * idle:.0f} % of the time"
    assert ceiling.step_s is not None
    known = [f"reading once {100 * memory:.0f} %"]
    if ceiling.all_reduces:
        known.append(f"{ceiling.all_reduces} all-reduces {100 * links[0]:.0f} to {100 * links[1]:.0f} %")
    times = step_s / ceiling.step_s
    return Bound.KERNELS, f"a step takes {times:.1f} times what it needs at least: {', '.join(known)}"


def _capacity(points: Sequence[PointSummary], concurrency: int, cap: int | None) -> str | None:
    usage = max((point.counters.kv_usage_max or 0.0 for point in points), default=0.0)
    preempted = sum(point.counters.preemptions or 0.0 for point in points)
    if preempted:
        return f"{preempted:.0f} requests were preempted"
    if usage >= KV_FULL:
        return f"the KV cache was {100 * usage:.0f} % full"
    if cap is not None and cap < concurrency:
        return f"{cap} of {concurrency} requests ran at once"
    return None


def _idle(points: Sequence[PointSummary]) -> float | None:
    """Mean GPU utilisation where it shows idle GPUs; None where it does not, or where there are no readings."""
    readings = [value for point in points for value in point.telemetry.utilization_mean or ()]
    if not readings:
        return None
    mean = sum(readings) / len(readings)
    return mean if mean < IDLE else None


def _step_s(points: Sequence[PointSummary]) -> float | None:
    values = [point.tpot_s.mean for point in points if point.tpot_s is not None]
    if not values:
        return None
    seen = observe(points)
    return sum(values) / len(values) * (seen.tokens_per_step if seen is not None else 1.0)
