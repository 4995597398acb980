"""Follows several trials at once: what each of them says comes out of one queue, in one thread."""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass

from shakedown.campaign.places.base import RunningTrial
from shakedown.domain.events import Event


@dataclass(frozen=True, slots=True)
class Said:
    """A trial said something."""

    trial_id: str
    event: Event


@dataclass(frozen=True, slots=True)
class Over:
    """A trial has ended, or following it failed with ``error``."""

    trial_id: str
    running: RunningTrial
    error: BaseException | None = None
    left: bool = False
    """It goes on without us."""


class Following:
    """The trials under way. Only the thread that made it may call its methods."""

    def __init__(self) -> None:
        self._heard: queue.SimpleQueue[Said | Over] = queue.SimpleQueue()
        self._running: dict[str, RunningTrial] = {}
        self._left: set[str] = set()

    def __len__(self) -> int:
        return len(self._running)

    def add(self, trial_id: str, running: RunningTrial) -> None:
        """Follow one more trial."""
        self._running[trial_id] = running
        # A daemon: a campaign that fails must not wait for what a trial still says.
        threading.Thread(target=self._listen, args=(trial_id, running), name=f"trial-{trial_id}", daemon=True).start()

    def next(self) -> Said | Over:
        """Wait for what any of them says or for the end of one."""
        heard = self._heard.get()
        if isinstance(heard, Over):
            del self._running[heard.trial_id]
        return heard

    def stop(self) -> None:
        """Ask all of them to stop; safe in a signal handler."""
        for running in list(self._running.values()):
            running.interrupt()

    def leave(self) -> None:
        """Let those go on that can without us, and stop the others; safe in a signal handler."""
        for trial_id, running in list(self._running.items()):
            self._left.add(trial_id)  # first: the trial may end within the call
            if not running.leave():
                self._left.discard(trial_id)
                running.interrupt()

    def _listen(self, trial_id: str, running: RunningTrial) -> None:
        error: BaseException | None = None
        try:
            for event in running.events():
                self._heard.put(Said(trial_id, event))
        except BaseException as raised:
            error = raised
        self._heard.put(Over(trial_id, running, error, trial_id in self._left))
