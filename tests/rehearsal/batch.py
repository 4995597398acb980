"""Continuous batching on a clock: how long steps take, who takes part, how many tokens each step brings.

Steps end at times that are computed, not slept one after another, so that a server's speed is what its script says
within a fraction of a per cent however the process is scheduled.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

PREFILL_S = 15e-6
"""Seconds for each token of a prompt."""
PLAIN_S = 1 / 71.6
"""A decode step of one request without speculation: 71.6 tokens/s, the story's figure."""
REQUEST_S = 0.55e-3
"""What each further request adds to a step: 395 tokens/s at 8 and 1,020 at 32 were published for this model."""
GOLDEN = 0.6180339887
ACCEPT_TEXT, ACCEPT_RANDOM = 0.888, 0.13
"""Chance that a drafted token is accepted if those before it were: three drafts give 3.37 and 1.15 tokens a step."""


def faster() -> float:
    """A small rehearsal runs the clock faster: ``REHEARSAL_FASTER`` times."""
    return float(os.environ.get("REHEARSAL_FASTER", "1"))


@dataclass(frozen=True)
class Speed:
    """How fast the scripted engine is."""

    factor: float = 1.0
    """Greater is faster."""
    drafted: int = 0
    """Tokens drafted for each step; 0 without speculation."""
    forced: float | None = None
    """Accept length that the engine was told to make up."""

    def step_s(self, requests: int) -> float:
        plain = (PLAIN_S + REQUEST_S * (requests - 1)) / self.factor
        verify = 1.24 + 0.0533 * self.drafted + 0.004 * (requests - 1) if self.drafted else 1.0
        return plain * verify

    def chances(self, *, text: bool) -> list[float]:
        """Chance that at least so many drafted tokens are accepted, from one on."""
        if self.forced is not None:
            rest = self.forced - 1
            return [min(max(rest - place, 0.0), 1.0) for place in range(self.drafted)]
        chance = ACCEPT_TEXT if text else ACCEPT_RANDOM
        return [chance**place for place in range(1, self.drafted + 1)]


@dataclass(eq=False)
class Job:
    """One request under way."""

    prompt_tokens: int
    wanted: int
    emit: Callable[[int, bool], None]
    """Called with the number of new tokens and whether they are the last."""
    chances: list[float]
    phase: float = 0.0
    """Where this request's draws begin, between 0 and 1."""
    made: int = 0
    steps: int = 0
    accepted: list[int] = field(default_factory=list)
    left: bool = False

    def advance(self, *, decode: bool) -> None:
        """Take the tokens of one step. Draws are spread evenly (multiples of the golden ratio): means settle soon."""
        new = 1
        if decode and self.chances:
            self.steps += 1
            draw = (self.phase + self.steps * GOLDEN) % 1.0
            new += sum(draw < chance for chance in self.chances)
            self.accepted.append(new - 1)
        new = min(new, self.wanted - self.made)
        self.made += new
        self.emit(new, self.made >= self.wanted)


@dataclass
class Totals:
    """Counters over the server's life. Engines add a request's to them when it ends."""

    prompt_tokens: int = 0
    generated: int = 0
    finished: int = 0
    steps: int = 0
    accepted_at: list[int] = field(default_factory=lambda: [0] * 16)

    def add(self, job: Job) -> None:
        self.prompt_tokens += job.prompt_tokens
        self.generated += job.made
        self.finished += 1
        self.steps += job.steps
        for count in job.accepted:
            for place in range(count):
                self.accepted_at[place] += 1


class Batch:
    """Runs at most ``cap`` requests at once; the others wait in order."""

    def __init__(self, speed: Speed, cap: int) -> None:
        self.speed = speed
        self.cap = cap
        self.running: list[Job] = []
        self.waiting: deque[Job] = deque()
        self.totals = Totals()
        self.on_prefill: Callable[[list[Job]], None] = _ignore
        self.on_step: Callable[[], None] = _ignore
        self._work = asyncio.Event()

    def submit(self, job: Job) -> None:
        self.waiting.append(job)
        self._work.set()

    def drop(self, job: Job) -> None:
        """The client went away."""
        if not job.left:
            self._finish(job)
            if job in self.running:
                self.running.remove(job)
            elif job in self.waiting:
                self.waiting.remove(job)

    def _finish(self, job: Job) -> None:
        job.left = True
        self.totals.add(job)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            if not self.running and not self.waiting:
                self._work.clear()
                await self._work.wait()
                due = loop.time()
            fresh = [self.waiting.popleft() for _ in range(min(self.cap - len(self.running), len(self.waiting)))]
            self.running += fresh
            if fresh:
                self.on_prefill(fresh)
                due += PREFILL_S * sum(job.prompt_tokens for job in fresh) + self.speed.step_s(1) / 4
            else:
                due += self.speed.step_s(len(self.running))
            await asyncio.sleep(max(due - loop.time(), 0))
            for job in fresh or list(self.running):
                if not job.left:
                    job.advance(decode=not fresh)
                    if job.made >= job.wanted:
                        self._finish(job)
            self.running = [job for job in self.running if not job.left]
            if not fresh:
                self.on_step()


def _ignore(*_: object) -> None:
    """Nobody listens."""
