"""What a place is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from shakedown.domain.events import Event
from shakedown.domain.trial import TrialRequest


class RunningTrial(Protocol):
    """A trial process under way."""

    def events(self) -> Iterator[Event]:
        """Yield events as they come; ends when the process has ended and all its output is read."""
        ...

    def interrupt(self) -> None:
        """Ask the trial to stop its server and end; it ends without a ``TrialFinished``. May be called twice."""
        ...

    def ending(self) -> str | None:
        """After ``events`` has ended: None if the process ended in order, else what is known of its death."""
        ...


class Place(Protocol):
    """Somewhere a trial can run."""

    name: str

    def start(self, request: TrialRequest) -> RunningTrial:
        """Start ``shakedown trial`` with ``request`` on its standard input."""
        ...
