"""Servers that span several hosts: followers are launched, watched and torn down with their leader.

Works over any place away from here. Each rank is a trial process of its own; the leader's is the trial that counts, and
a follower that dies ends it, with the follower's root line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from shakedown.campaign.following import Following, Over, Said
from shakedown.campaign.places.afar import AfarPlace
from shakedown.campaign.places.base import Lost, RunningTrial, Tell
from shakedown.campaign.subject import Subject
from shakedown.domain.errors import UserError
from shakedown.domain.events import Event, ServerReady, TrialFinished
from shakedown.domain.spec import CampaignSpec
from shakedown.domain.trial import Span, TrialRequest
from shakedown.domain.words import Category, Stage, Verdict
from shakedown.engines.base import SpanningEngine
from shakedown.engines.registry import engine_for
from shakedown.plan.outcome import Plan

LEADER = "leader"
_BROUGHT_DOWN = (Verdict.FAILED, Verdict.CRASHED, Verdict.HUNG)
"""What a leader comes to whose follower died."""
_OF_OTHERS = (None, Category.COMMUNICATION, Category.HANG, Category.SYMPTOM_ONLY)
"""Kinds of failure that a rank has when another one is gone."""


class SpanningTrial:
    """A leader and its followers, seen as one trial.

    Args:
        leader: the trial that counts.
        followers: by name for people.
    """

    def __init__(self, leader: RunningTrial, followers: Mapping[str, RunningTrial]) -> None:
        self._leader = leader
        self._followers = followers
        self._trials = Following()
        self._interrupted = False
        self._ready = False
        self._died: tuple[str, TrialFinished] | None = None
        self._finished: TrialFinished | None = None
        self._endings: list[str] = []
        self._lost: Lost | None = None

    def events(self) -> Iterator[Event]:
        """Yield the leader's events; if a follower dies first, its death is how the trial finishes."""
        for name, follower in self._followers.items():
            self._trials.add(name, follower)
        self._trials.add(LEADER, self._leader)
        while len(self._trials):
            heard = self._trials.next()
            if isinstance(heard, Over):
                self._over(heard)
            elif heard.trial_id != LEADER:
                self._follower_said(heard)
            elif isinstance(heard.event, TrialFinished):
                self._finished = heard.event
                self._stop_followers()
            else:
                self._ready = self._ready or isinstance(heard.event, ServerReady)
                yield heard.event
        verdict = self._verdict()
        if verdict is not None:
            yield verdict

    def interrupt(self) -> None:
        """Stop all ranks."""
        self._interrupted = True
        self._leader.interrupt()
        self._stop_followers()

    def leave(self) -> bool:
        """Let all ranks go on, or none."""
        left = [trial.leave() for trial in (self._leader, *self._followers.values())]
        self._interrupted = all(left)
        return all(left)

    def ending(self) -> str | None:
        """How any of the ranks' trial processes died."""
        return "; ".join(self._endings) or None

    def lost(self) -> Lost | None:
        """Why the place lost any of the ranks."""
        return self._lost

    def _follower_said(self, said: Said) -> None:
        if isinstance(said.event, TrialFinished) and self._died is None:
            self._died = (said.trial_id, said.event)
            self._leader.interrupt()

    def _over(self, over: Over) -> None:
        if over.error is not None:
            self._leader.interrupt()
            self._stop_followers()
            raise over.error
        ending, lost = over.running.ending(), over.running.lost()
        told_to_stop = self._interrupted or self._finished is not None or self._died is not None
        if lost is not None and self._lost is None and not told_to_stop:
            self._lost = Lost(f"{over.trial_id}: {lost.reason}", lost.host_gone)
        if ending is not None and not told_to_stop:
            self._endings.append(f"{over.trial_id}: {ending}")
        # Without one of its ranks a server is none.
        self._leader.interrupt()
        self._stop_followers()

    def _stop_followers(self) -> None:
        for follower in self._followers.values():
            follower.interrupt()

    def _verdict(self) -> TrialFinished | None:
        if self._died is None or (self._finished is not None and self._finished.verdict not in _BROUGHT_DOWN):
            return self._finished
        name, died = self._died
        if self._finished is not None and _knows_why(self._finished) and not _knows_why(died):
            return self._finished
        stage = Stage.LOAD if self._ready else Stage.BOOT
        failure = died.failure.model_copy(update={"stage": stage}) if died.failure is not None else None
        return died.model_copy(
            update={
                "verdict": Verdict.CRASHED if self._ready else Verdict.FAILED,
                "reason": f"{name} died: {died.reason}",
                "failure": failure,
            }
        )


def _knows_why(event: TrialFinished) -> bool:
    """Whether a rank's failure is more than that it missed another one."""
    return event.failure is not None and event.failure.category not in _OF_OTHERS


class SpanningPlace:
    """Groups of hosts of another place, each of which runs one server at a time."""

    def __init__(self, inner: AfarPlace, nodes: int) -> None:
        self._inner = inner
        self._nodes = nodes
        self.kind = inner.kind
        self.hosts = self._groups()

    def inspect(self, spec: CampaignSpec, tell: Tell) -> dict[str, Subject]:
        """Look at every host; a group is what its leader is, and needs all of its hosts."""
        if not isinstance(engine_for(spec.engine.kind), SpanningEngine):
            raise UserError(f"[place] nodes: Shakedown cannot start {spec.engine.kind.value} on several hosts")
        wanted = {group: self._members(group) for group in self._groups()}
        found = self._inner.inspect(spec, tell)
        whole = {group: found[hosts[0]] for group, hosts in wanted.items() if all(host in found for host in hosts)}
        if not whole:
            raise UserError("no group of hosts is complete: a server spans " + " or ".join(wanted))
        self.hosts = tuple(whole)
        return whole

    def plan(self, subject: Subject, tell: Tell) -> Plan:
        """Plan where the engine is."""
        return self._inner.plan(subject, tell)

    def start(self, request: TrialRequest, *, host: str) -> SpanningTrial:
        """Start all ranks; the followers keep their logs in folders of their own beside the leader's."""
        leader, *followers = self._members(host)
        address, port = self._inner.meeting_point(leader)
        trials: dict[str, RunningTrial] = {}
        for rank, name in enumerate(followers, start=1):
            folder = Path(request.folder) / f"rank-{rank}"
            folder.mkdir()
            span = Span(nodes=self._nodes, rank=rank, address=address, port=port)
            own = request.model_copy(update={"folder": str(folder), "span": span, "points": ()})
            own = own.model_copy(update={"gates": own.gates.model_copy(update=_NO_REFERENCE)})
            trials[f"rank {rank} on {name}"] = self._inner.start(own, host=name)
        span = Span(nodes=self._nodes, rank=0, address=address, port=port)
        leads = self._inner.start(request.model_copy(update={"span": span}), host=leader)
        return SpanningTrial(leads, trials)

    def attach(self, folder: Path, *, after: int) -> SpanningTrial | None:
        """Attach to all ranks."""
        leader = self._inner.attach(folder, after=after)
        followers = {part.name: self._inner.attach(part, after=0) for part in sorted(folder.glob("rank-*"))}
        known = {name: trial for name, trial in followers.items() if trial is not None}
        return SpanningTrial(leader, known) if leader is not None else None

    def close(self) -> None:
        """Close the place beneath."""
        self._inner.close()

    def _groups(self) -> tuple[str, ...]:
        hosts = self._inner.hosts
        return tuple("+".join(hosts[at : at + self._nodes]) for at in range(0, len(hosts), self._nodes))

    @staticmethod
    def _members(group: str) -> list[str]:
        return group.split("+")


_NO_REFERENCE = {"reference_file": None, "write_reference": False}
