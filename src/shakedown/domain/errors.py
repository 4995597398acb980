"""Every exception that Shakedown raises on purpose.

::

    ShakedownError                 exit 1
    ├── UserError                  exit 2: what the user gave is wrong; message names the place and the mend
    │   ├── CampaignFileError      all problems of a campaign file at once
    │   ├── CheckpointError        a model that cannot be read
    │   ├── EngineNotFoundError    the engine is not installed where it was said to be
    │   └── StoreBusyError         another campaign holds the results folder
    ├── PlaceError                 a place cannot start a trial now, or lost all its hosts
    ├── StoreError                 the results folder cannot be written or read
    └── ClientError                a control request failed (the load generator counts failures, it does not raise)

A candidate that fails is a result, not an exception.
"""

from __future__ import annotations

from dataclasses import dataclass


class ShakedownError(Exception):
    """The root: an error with a message fit for the user. Shown without a traceback."""

    exit_code = 1


class UserError(ShakedownError):
    """What the user gave is wrong. The message names the place and the mend."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a file: where, what, and the nearest valid word if there is one."""

    file: str
    line: int | None
    key: str
    message: str
    suggestion: str | None = None

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        hint = f" (did you mean {self.suggestion!r}?)" if self.suggestion else ""
        return f"{place}: {self.key}: {self.message}{hint}" if self.key else f"{place}: {self.message}{hint}"


class CampaignFileError(UserError):
    """A campaign file with one or more problems; all of them are in ``problems``."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


class CheckpointError(UserError):
    """A model path that is missing, truncated or not a checkpoint."""


class EngineNotFoundError(UserError):
    """The engine is not installed in the interpreter or on the PATH that was given."""


class StoreBusyError(UserError):
    """Another process holds the results folder; the message names it, and so does ``holder``."""

    def __init__(self, message: str, holder: str | None = None) -> None:
        super().__init__(message)
        self.holder = holder


class StoreError(ShakedownError):
    """The results folder cannot be written (disk full, permissions) or read (damaged, newer schema)."""


class PlaceError(ShakedownError):
    """No trial can be started now: hosts do not answer, the cluster refuses. Says nothing of the candidate."""


class ClientError(ShakedownError):
    """A control request to a server failed."""
