"""What a place is: a way to start ``shakedown trial`` somewhere, and to hear what it says.

Every place is one file of this package, found by itself (``registry``) and held by one contract suite
(``tests/contract/test_places.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from shakedown.campaign.subject import Subject
from shakedown.domain.events import Event
from shakedown.domain.spec import CampaignSpec, PlaceSection
from shakedown.domain.trial import TrialRequest
from shakedown.domain.words import PlaceKind
from shakedown.plan.outcome import Plan

Tell = Callable[[str], None]
"""Told, in a sentence, what takes time."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A trial that ended for no reason of its own."""

    reason: str
    host_gone: bool
    """The host does not answer any more."""


class RunningTrial(Protocol):
    """A trial process under way."""

    def events(self) -> Iterator[Event]:
        """Yield events as they come; ends when the process has ended and all its output is here.

        A file that an event names is in the trial's folder before the event comes.
        """
        ...

    def interrupt(self) -> None:
        """Ask the trial to stop its server and end; it ends without a ``TrialFinished``. May be called twice.

        Called from a signal handler too: returns at once.
        """
        ...

    def leave(self) -> bool:
        """Let go of the trial; True if it goes on without us and :meth:`Place.attach` can find it again."""
        ...

    def ending(self) -> str | None:
        """After ``events`` has ended: None if the process ended in order, else what is known of its death."""
        ...

    def lost(self) -> Lost | None:
        """After ``events`` has ended: why the place lost the trial, which says nothing of the candidate; or None."""
        ...


class Place(Protocol):
    """Somewhere trials can run."""

    kind: PlaceKind
    hosts: tuple[str, ...]
    """What can run one trial each at the same time, by name."""

    def inspect(self, spec: CampaignSpec, tell: Tell) -> dict[str, Subject]:
        """Look at what the campaign is about where it will run, on every host; those that cannot be used are left out.

        Raises:
            UserError: what the campaign names cannot be used on any host; says what is missing on each.
        """
        ...

    def plan(self, subject: Subject, tell: Tell) -> Plan:
        """Plan the campaign, asking the engine where it is."""
        ...

    def start(self, request: TrialRequest, *, host: str) -> RunningTrial:
        """Start ``shakedown trial`` with ``request`` on its standard input; ``request.folder`` is here.

        Raises:
            PlaceError: the host cannot start it now.
        """
        ...

    def attach(self, folder: Path, *, after: int) -> RunningTrial | None:
        """Go on with a trial that an earlier campaign process left running, or that ended since.

        Args:
            folder: the trial's folder.
            after: events that are stored already (progress is never stored); what came later is told again.
        """
        ...

    def close(self) -> None:
        """Let go of everything that serves no running trial."""
        ...


class OpenPlace(Protocol):
    """What a module of this package offers as ``open_place``."""

    def __call__(self, section: PlaceSection, tell: Tell) -> Place:
        """Open the place that ``section`` describes.

        Raises:
            UserError: it cannot be used, and why.
        """
        ...
