"""When to end a load point before its requests or seconds are over: small conditions, each with its reason."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from shakedown.domain.workload import LoadLevel


@dataclass(frozen=True, slots=True)
class PointView:
    """A running point as its conditions see it, several times a second."""

    elapsed_s: float
    level: LoadLevel
    started: int
    done: int
    running: int
    finished: Sequence[tuple[int, int, int]]
    """Good requests so far: when sent, when the first bytes came, when ended; nanoseconds."""


class StopCondition(Protocol):
    """Looks at a running point and says why it should end, or None."""

    cuts: bool
    """True: what is in flight is given up, it would never end well. False: it may finish."""

    def look(self, view: PointView) -> str | None:
        """Reason to stop now, as it will stand in ``stop_reason``."""
        ...


@dataclass(slots=True)
class IntervalNarrow:
    """Ends a point when its mean latency is known to ``relative`` half-width at ``confidence``.

    In a closed loop throughput is concurrency over mean end-to-end latency (Little's law), so an interval of the one
    is an interval of the other. Neighbouring requests share batches and are no independent samples; their means over
    ten consecutive batches nearly are (batch means; Law, Simulation Modeling and Analysis, 9.5.3).
    """

    relative: float
    confidence: float = 0.95
    batches: int = 10
    cuts: bool = False

    def look(self, view: PointView) -> str | None:
        """``interval`` once the half-width is narrow enough, with three rounds of all slots at least."""
        least = max(3 * self.batches, 3 * (view.level.concurrency or 1))
        if len(view.finished) < least:
            return None
        from scipy.special import stdtrit  # here, not above: most points never need it, and it is slow to import

        latencies = np.array([end - sent for sent, _, end in view.finished], dtype=np.float64)
        means = np.array([part.mean() for part in np.array_split(latencies, self.batches)])
        quantile = float(stdtrit(self.batches - 1, (1 + self.confidence) / 2))
        half_width = quantile * float(means.std(ddof=1)) / math.sqrt(self.batches)
        return "interval" if half_width <= self.relative * float(means.mean()) else None


@dataclass(slots=True)
class Saturated:
    """Ends an open loop whose server cannot keep up: the number in flight grows and grows.

    A queue that fills at first is no sign; one that is still growing over the last half of the point is. The number
    in flight must have grown in each of the last three sixths, by half in all, while fewer than ``share`` of what was
    sent in them came back.
    """

    least_s: float = 6.0
    share: float = 0.9
    cuts: bool = True
    _seen: list[tuple[float, int, int, int]] = field(default_factory=list)

    def look(self, view: PointView) -> str | None:
        """``saturation`` once the queue has grown through the last half of the point."""
        self._seen.append((view.elapsed_s, view.started, view.done, view.running))
        if view.level.concurrency is not None or view.elapsed_s < self.least_s:
            return None
        marks = [self._at(view.elapsed_s * sixths / 6) for sixths in (3, 4, 5, 6)]
        running = [mark[3] for mark in marks]
        sent, back = marks[3][1] - marks[0][1], marks[3][2] - marks[0][2]
        growing = all(later > earlier for earlier, later in itertools.pairwise(running))
        if growing and running[3] > max(1.5 * running[0], running[0] + 8) and back < self.share * sent:
            return "saturation"
        return None

    def _at(self, elapsed_s: float) -> tuple[float, int, int, int]:
        """The last observation at or before a time."""
        return max((seen for seen in self._seen if seen[0] <= elapsed_s), default=self._seen[0])
