"""The input of ``shakedown trial``: everything one launch needs, as JSON."""

from __future__ import annotations

from pydantic import Field

from shakedown.domain.base import Value
from shakedown.domain.candidate import Candidate
from shakedown.domain.words import GateLevel, Objective
from shakedown.domain.workload import PointPlan


class Gates(Value):
    """Which checks a candidate must pass. ``max_kl`` limits the mean KL divergence from the reference in nats."""

    level: GateLevel = GateLevel.QUICK
    max_kl: float | None = Field(default=None, gt=0)
    write_reference: bool = False
    """This trial is the reference: write its log-probabilities to ``reference_file``."""
    reference_file: str | None = None
    context_tokens: int = Field(default=1024, ge=1)
    """The longest input of the workloads: accuracy is gated at this length."""
    skip: tuple[str, ...] = ()
    """Names of checks that are not asked."""


class Limits(Value):
    """Time limits of supervision, seconds. Progress resets the stall limit; nothing else ends a healthy boot."""

    boot_stall_s: float = Field(default=600.0, gt=0)
    """No log line, CPU use, reading, new process or growth for this long while booting: hung. CPU alone: thrice."""
    boot_total_s: float = Field(default=7200.0, gt=0)
    serve_stall_s: float = Field(default=120.0, gt=0)
    """A stream under load that is silent for this long is ended and counted as ``timeout``."""
    term_grace_s: float = Field(default=8.0, gt=0)
    """Between SIGTERM and SIGKILL."""


class Span(Value):
    """The place of one host in a server that spans several."""

    nodes: int = Field(ge=2)
    rank: int = Field(ge=0)
    """0 leads: it listens, is checked and is measured. The others are started, watched and stopped with it."""
    address: str
    """The leader's, as the others reach it."""
    port: int = Field(ge=1, le=65535)
    """Where the ranks find each other; not where the server listens."""


class RaceBar(Value):
    """What the incumbent does at one load point."""

    workload: str
    concurrency: int | None = None
    request_rate: float | None = None
    merit: float
    """Natural logarithm of its figure of merit, more is better: mean over repeats and launches."""
    weight: float = Field(gt=0)
    """The point's share in the objective; all add up to 1."""


class Race(Value):
    """What a launch is measured against while it runs: a loser's remaining load points are not measured."""

    incumbent: str
    """Label of the best so far."""
    objective: Objective
    bars: tuple[RaceBar, ...] = Field(min_length=1)
    allowance: float = Field(ge=0)
    """Distance of logarithms at which the launch's upper bound meets the incumbent's lower bound."""


class TrialRequest(Value):
    """One launch of one candidate: its gates, load points and limits, and the folder for logs and records."""

    candidate: Candidate
    folder: str
    """Where ``server.log`` and request records go; made if missing."""
    gates: Gates = Field(default_factory=Gates)
    points: tuple[PointPlan, ...] = ()
    measure_only: bool = False
    """No gates: the text is made up on purpose and only the time of a step is of interest."""
    race: Race | None = None
    """None: every load point is measured."""
    time_left_s: float | None = None
    """What the campaign's budget leaves to this launch; no load point begins after that. None: no limit."""
    limits: Limits = Field(default_factory=Limits)
    host: str = "127.0.0.1"
    port: int | None = None
    """None: a free port is taken."""
    span: Span | None = None
    """None: the server is on one host."""
