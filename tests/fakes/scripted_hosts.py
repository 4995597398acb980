"""Several hosts whose trials are scripted, which run side by side, differ and die as the test says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Barrier

from tests.fakes.scripted_place import ScriptedTrial, measured

from shakedown.campaign.places.base import Lost, Tell
from shakedown.campaign.subject import Subject, plan_subject
from shakedown.domain.candidate import Candidate
from shakedown.domain.errors import PlaceError
from shakedown.domain.events import Event
from shakedown.domain.trial import TrialRequest
from shakedown.domain.words import PlaceKind
from shakedown.domain.workload import PointPlan
from shakedown.plan.outcome import Plan

Speed = Callable[[Candidate, PointPlan], float]


class ScriptedHosts:
    """``slowness`` by host, ``uneven`` by host and label.

    ``dies_after`` says how many trials of a host end well before it is gone.
    With ``together`` the trials that follow the campaign's first wait until so many of them run at the same time.
    """

    kind = PlaceKind.SSH

    def __init__(
        self,
        speed: Speed,
        *hosts: str,
        slowness: dict[str, float] | None = None,
        uneven: dict[tuple[str, str], float] | None = None,
        dies_after: dict[str, int] | None = None,
        refuses: tuple[str, ...] = (),
        together: int = 1,
    ) -> None:
        self.hosts = hosts
        self._speed = speed
        self._slowness = slowness or {}
        self._uneven = uneven or {}
        self._left = dies_after or {}
        self._refuses = refuses
        self._meeting = Barrier(together)
        self.met = 0
        self.started: list[tuple[str, str]] = []
        """Host and label of every trial, in the order they were started."""

    def plan(self, subject: Subject, tell: Tell) -> Plan:
        return plan_subject(subject, progress=tell)

    def attach(self, folder: Path, *, after: int) -> None:
        return None

    def start(self, request: TrialRequest, *, host: str) -> ScriptedTrial:
        if host in self._refuses:
            raise PlaceError("ssh: connect to host: No route to host")
        first = not self.started
        self.started.append((host, request.candidate.label))
        slowness = self._slowness.get(host, 1.0) * self._uneven.get((host, request.candidate.label), 1.0)
        events = measured(request, lambda candidate, plan: self._speed(candidate, plan) / slowness)
        if self._left.get(host) == 0:
            return ScriptedTrial(events[:2], None, Lost("no connection for 130 s", host_gone=True))
        if host in self._left:
            self._left[host] -= 1
        meets = not first and 1 < len(self.started) <= 1 + self._meeting.parties
        return _Meeting(self, events) if meets else ScriptedTrial(events, None)

    def meet(self) -> None:
        self._meeting.wait(30.0)
        self.met += 1


class _Meeting(ScriptedTrial):
    def __init__(self, hosts: ScriptedHosts, events: list[Event]) -> None:
        super().__init__(events, None)
        self._hosts = hosts

    def events(self) -> Iterator[Event]:
        self._hosts.meet()
        yield from super().events()
