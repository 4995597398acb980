"""Diagnosis: root cause, symptoms, warnings, and the remedy a machine can apply."""

from __future__ import annotations

from pydantic import Field

from shakedown.domain.base import ArgValue, Value
from shakedown.domain.words import Category, Stage


class Adjustment(Value):
    """A change relative to the present value of a numeric argument: ``value * times + add``, not below ``least``."""

    times: float = Field(default=1.0, gt=0)
    add: float = 0.0
    default: float | None = None
    """The engine's own value, used where the argument is not given; None: cannot be adjusted unless given."""
    least: float | None = None


class Remedy(Value):
    """What to change, in words and for a machine. Empty ``set``, ``remove`` and ``env`` means: advice only."""

    advice: str
    set_args: dict[str, ArgValue] = Field(default_factory=dict)
    remove_args: tuple[str, ...] = ()
    set_env: dict[str, str] = Field(default_factory=dict)
    remove_env: tuple[str, ...] = ()
    avoid_args: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Argument to values that cannot work: an argument that has one of them is taken away (the engine then chooses)."""
    adjust_args: dict[str, Adjustment] = Field(default_factory=dict)
    retry_unchanged: bool = False
    """Launching the same line again may succeed (a port that was taken, a GPU that was still busy)."""

    @property
    def actionable(self) -> bool:
        """Whether a machine can apply it."""
        changes = (self.set_args, self.remove_args, self.set_env, self.remove_env, self.avoid_args, self.adjust_args)
        return any(changes) or self.retry_unchanged


class RootCause(Value):
    """The line that says why, and what is known of it. ``signature`` is None for an unknown traceback's last frame."""

    category: Category | None
    signature: str | None
    line_number: int | None
    """1-based line in the log; None when the evidence is not a line (an exit by SIGKILL)."""
    line: str | None
    captures: dict[str, str] = Field(default_factory=dict)
    title: str
    cause: str
    remedy: Remedy | None
    sources: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    """A few lines round the root line."""
    suggested_only: bool = False
    """True where the evidence suggests and does not prove (SIGKILL without a line)."""


class Symptom(Value):
    """A line that follows from the root, or a warning of a healthy server."""

    signature: str | None
    category: Category | None
    line_number: int
    line: str
    title: str
    advice: str = ""


class Diagnosis(Value):
    """What ``shakedown diagnose --json`` prints."""

    engine: str | None
    stage: str | None
    failed: bool
    root: RootCause | None
    other_roots: tuple[RootCause, ...] = ()
    """Further independent roots."""
    symptoms: tuple[Symptom, ...] = ()
    warnings: tuple[Symptom, ...] = ()
    tail: tuple[str, ...] = ()
    ready: bool = False
    """Whether the log says that the server took requests at some time."""


class ExitEvidence(Value):
    """How a server process ended, as far as it was seen: evidence beside its log."""

    exit_code: int | None = None
    signal: int | None = None
    silent_s: float | None = None
    """Seconds without a log line before the end."""
    last_phase: str | None = None
    stage: Stage | None = None
    stalled: bool = False
    """Ended by the stall limit, not by itself."""


class Failure(Value):
    """A candidate's failure in the results vocabulary."""

    category: Category | None
    signature: str | None
    stage: Stage
    root_line: str | None
    line_number: int | None = None
    title: str = ""
    cause: str = ""
    remedy: Remedy | None = None
    sources: tuple[str, ...] = ()
