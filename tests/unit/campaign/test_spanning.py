"""A server over several hosts is one trial: it ends with any of its ranks, and says which."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest
from tests.fakes.scripted_place import AT

from shakedown.campaign.places.base import Lost
from shakedown.campaign.places.spanning import SpanningTrial
from shakedown.domain.events import Event, ServerReady, TrialFinished, TrialStarted
from shakedown.domain.failure import Failure
from shakedown.domain.words import Category, Stage, Verdict

STARTED = TrialStarted(at=AT, candidate_id="c", pid=1, host="a")
READY = ServerReady(at=AT, boot_s=1.0, base_url="http://x", pid=2, process_started_at=AT, effective={})
DONE = TrialFinished(at=AT, verdict=Verdict.QUALIFIED, reason="measured")
LOST_PEER = Failure(
    category=Category.COMMUNICATION,
    signature=None,
    stage=Stage.LOAD,
    root_line="NCCL: remote closed",
    title="peer gone",
)
NO_MEMORY = Failure(
    category=Category.DEVICE_OUT_OF_MEMORY,
    signature=None,
    stage=Stage.BOOT,
    root_line="CUDA out of memory",
    title="no memory",
)
NCCL = TrialFinished(at=AT, verdict=Verdict.FAILED, reason="peer gone: NCCL: remote closed", failure=LOST_PEER)
OUT_OF_MEMORY = TrialFinished(at=AT, verdict=Verdict.FAILED, reason="no memory: CUDA out of memory", failure=NO_MEMORY)


class Rank:
    """Says what it is to say when ``after`` is set, then waits to be stopped unless it has said its last."""

    def __init__(self, *events: Event, after: threading.Event | None = None, lost: Lost | None = None) -> None:
        self._events: Sequence[Event] = events
        self._after = after
        self._lost = lost
        self._told = threading.Event()
        self.said_all = threading.Event()

    def events(self) -> Iterator[Event]:
        if self._after is not None:
            assert self._after.wait(10)
        yield from self._events
        self.said_all.set()
        if self._lost is None and not any(isinstance(event, TrialFinished) for event in self._events):
            assert self._told.wait(10)

    def interrupt(self) -> None:
        self._told.set()

    def leave(self) -> bool:
        self._told.set()
        return True

    def ending(self) -> str | None:
        return None

    def lost(self) -> Lost | None:
        return self._lost


def test_the_leader_finishes_and_its_followers_are_stopped() -> None:
    follower = Rank()
    seen = list(SpanningTrial(Rank(STARTED, READY, DONE), {"rank 1 on b": follower}).events())
    assert seen == [STARTED, READY, DONE]
    assert follower._told.is_set()


@pytest.mark.parametrize(
    ("before", "verdict", "stage"),
    [([STARTED], Verdict.FAILED, Stage.BOOT), ([STARTED, READY], Verdict.CRASHED, Stage.LOAD)],
)
def test_a_follower_that_dies_is_the_trials_failure_with_its_root_line(
    before: list[Event], verdict: Verdict, stage: Stage
) -> None:
    leader = Rank(*before)
    trial = SpanningTrial(leader, {"rank 1 on b": Rank(OUT_OF_MEMORY, after=leader.said_all)})
    *events, last = trial.events()
    assert events == before
    assert isinstance(last, TrialFinished)
    assert last.verdict is verdict
    assert last.reason == "rank 1 on b died: no memory: CUDA out of memory"
    assert last.failure is not None
    assert (last.failure.root_line, last.failure.stage) == ("CUDA out of memory", stage)
    assert trial.lost() is None


def test_a_leader_brought_down_by_its_follower_does_not_hide_why() -> None:
    follower = Rank(OUT_OF_MEMORY)
    *_, last = SpanningTrial(Rank(STARTED, NCCL, after=follower.said_all), {"rank 1 on b": follower}).events()
    assert isinstance(last, TrialFinished)
    assert "CUDA out of memory" in last.reason


def test_a_leader_that_fails_by_itself_says_so() -> None:
    *_, last = SpanningTrial(Rank(STARTED, NCCL), {"rank 1 on b": Rank()}).events()
    assert last == NCCL


def test_a_follower_that_misses_its_leader_does_not_hide_why_the_leader_died() -> None:
    leader = Rank(STARTED, OUT_OF_MEMORY)
    *_, last = SpanningTrial(leader, {"rank 1 on b": Rank(NCCL, after=leader.said_all)}).events()
    assert last == OUT_OF_MEMORY


def test_a_lost_follower_loses_the_trial() -> None:
    trial = SpanningTrial(Rank(STARTED), {"rank 1 on b": Rank(lost=Lost("no connection for 130 s", host_gone=True))})
    assert list(trial.events()) == [STARTED]
    assert trial.lost() == Lost("rank 1 on b: no connection for 130 s", host_gone=True)


def test_an_interrupted_server_ends_on_all_hosts_without_a_verdict() -> None:
    leader, follower = Rank(STARTED), Rank()
    trial = SpanningTrial(leader, {"rank 1 on b": follower})
    seen = []
    for event in trial.events():
        seen.append(event)
        trial.interrupt()
    assert seen == [STARTED]
    assert leader._told.is_set()
    assert follower._told.is_set()
    assert trial.lost() is None
