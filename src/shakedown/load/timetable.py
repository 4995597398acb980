"""What a point sends: its prompts as shots, with offsets where it is an open loop."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from shakedown.domain.workload import PointPlan, Target
from shakedown.load.bodies import body, session
from shakedown.load.messages import Shot
from shakedown.load.prompts import Prompt, PromptSource
from shakedown.load.schedule import arrival_offsets, ramp_offsets


@dataclass(frozen=True, slots=True)
class Extent:
    """How much a point sends: ``requests`` (None: as many as fit) for at most ``duration_s`` (None: no limit)."""

    requests: int | None
    duration_s: float | None


def extent(plan: PointPlan) -> Extent:
    """Requests, seconds or both; never fewer requests than slots.

    A duration without a request count in the workload runs its full time, whatever ``plan.requests`` says.
    """
    workload, level = plan.workload, plan.level
    requests: int | None = max(plan.requests, level.concurrency or 1)
    if workload.duration_s is not None:
        if level.request_rate is not None and not math.isinf(level.request_rate):
            mean_rate = (level.request_rate + (workload.ramp_to or level.request_rate)) / 2
            planned = math.floor(mean_rate * workload.duration_s) + 1
            requests = planned if workload.requests is None else min(planned, requests or planned)
        elif workload.requests is None and level.concurrency is not None:
            requests = None
    return Extent(requests, workload.duration_s)


def due_offsets(plan: PointPlan, requests: int) -> Iterator[float] | None:
    """Offsets of an open loop's requests, seconds; None for a closed loop or a trace. Repeats draw different gaps."""
    rate = plan.level.request_rate
    if rate is None:
        return None
    workload = plan.workload
    if workload.ramp_to is not None and workload.duration_s is not None:
        return (float(offset) for offset in ramp_offsets(rate, workload.ramp_to, workload.duration_s))
    seed = workload.seed * 1_000_003 + plan.repeat
    offsets = arrival_offsets(requests, rate, arrival=workload.arrival, burstiness=workload.burstiness, seed=seed)
    return (float(offset) for offset in offsets)


class Shots:
    """Builds shots from prompts, in batches; keeps count of prompts that this server was sent before."""

    def __init__(self, target: Target, plan: PointPlan, prompts: PromptSource, seen: set[int]) -> None:
        self._target = target
        self._prompts = prompts
        self._ignore_eos = plan.workload.ignore_eos
        self._seen = seen
        self.built = 0
        self.repeated = 0

    def take(self, requests: int, due: Iterator[float] | None = None) -> list[Shot]:
        """Shots for ``requests`` more requests, the turns of a session counted each; ``due`` gives offsets.

        The last session may go a few turns beyond.
        """
        out: list[Shot] = []
        wanted = self.built + requests
        while self.built < wanted:
            (prompt,) = self._prompts.take(1)
            out.append(self._shot(prompt, next(due) if due is not None else prompt.at_s))
            self.built += 1 + len(prompt.follow_ups)
        return out

    def _shot(self, prompt: Prompt, due_s: float | None) -> Shot:
        digest = prompt.digest
        if digest in self._seen:
            self.repeated += 1
        self._seen.add(digest)
        return Shot(
            index=self.built,
            body=body(self._target, prompt, ignore_eos=self._ignore_eos),
            requested_tokens=prompt.output_tokens,
            digest=digest,
            due_s=due_s,
            session=session(self._target, prompt, ignore_eos=self._ignore_eos),
        )
