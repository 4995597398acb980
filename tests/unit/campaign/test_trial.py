"""Trials of a scripted engine that end their load before the last point, on purpose."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from shakedown.campaign.interrupt import Interrupt
from shakedown.campaign.trial import run_trial
from shakedown.domain.candidate import Candidate, EngineRef, ModelRef
from shakedown.domain.events import (
    CheckFinished,
    Event,
    PointFinished,
    PointStarted,
    ServerReady,
    ServerStopped,
    TrialFinished,
)
from shakedown.domain.trial import Gates, Limits, Race, RaceBar, TrialRequest
from shakedown.domain.words import CheckVerdict, EngineKind, Objective, Verdict
from shakedown.domain.workload import LoadLevel, PointPlan, Workload

ENGINE = Path(__file__).parents[2] / "chaos" / "engine.py"


def request(folder: Path, **more: object) -> TrialRequest:
    workload = Workload(name="w", input_tokens=8, output_tokens=2)
    return TrialRequest(
        candidate=Candidate(
            engine=EngineRef(kind=EngineKind.LLAMA_CPP, command=(sys.executable, str(ENGINE))),
            model=ModelRef(path="/none", name="toy"),
            args={"threads": 3},
        ),
        folder=str(folder),
        gates=Gates(),
        points=tuple(
            PointPlan(workload=workload, level=LoadLevel(concurrency=level), repeat=repeat, requests=2)
            for repeat in range(2)
            for level in (1, 2)
        ),
        **more,
    )


def run(asked: TrialRequest) -> list[Event]:
    events: list[Event] = []
    run_trial(asked, emit=events.append, interrupt=Interrupt())
    return events


def test_a_loser_is_measured_for_one_round_and_the_result_says_why(tmp_path: Path) -> None:
    bars = tuple(RaceBar(workload="w", concurrency=level, merit=math.log(1e9), weight=0.5) for level in (1, 2))
    race = Race(incumbent="the best", objective=Objective.OUTPUT_TOKENS_PER_S, bars=bars, allowance=0.1)
    events = run(request(tmp_path, race=race))
    points = [event.point for event in events if isinstance(event, PointFinished)]
    assert [(point.concurrency, point.repeat) for point in points] == [(1, 0), (2, 0)]
    last = events[-1]
    assert isinstance(last, TrialFinished)
    assert last.verdict is Verdict.QUALIFIED
    assert last.cut_short is not None
    assert "after 2 of 4 load points" in last.cut_short
    assert "the best" in last.reason


@pytest.mark.parametrize("spent", [True, False])
def test_a_boot_that_outlasts_the_budget_ends_without_a_verdict(tmp_path: Path, spent: bool) -> None:
    asked = request(tmp_path, time_left_s=0.0 if spent else 3600.0)
    events = run(asked.model_copy(update={"points": asked.points[:1]}))
    assert any(isinstance(event, ServerReady) for event in events) != spent
    assert any(isinstance(event, TrialFinished) for event in events) != spent


@pytest.mark.timeout(60)  # a request to a server that hangs waits ten minutes
@pytest.mark.parametrize("during", [ServerReady, PointStarted], ids=["gates", "load"])
def test_a_stop_does_not_wait_for_an_engine_that_hangs(tmp_path: Path, during: type) -> None:
    asked = request(tmp_path, limits=Limits(term_grace_s=1))
    events: list[Event] = []
    interrupt = Interrupt()

    def hear(event: Event) -> None:
        events.append(event)
        if isinstance(event, during):
            ready = next(one for one in events if isinstance(one, ServerReady))
            os.kill(ready.pid, signal.SIGSTOP)
            threading.Timer(0.5, interrupt.stop).start()

    run_trial(asked, emit=hear, interrupt=interrupt)
    assert isinstance(events[-1], ServerStopped)
    assert not any(isinstance(event, TrialFinished) for event in events)
    assert all(event.check.verdict is not CheckVerdict.FAIL for event in events if isinstance(event, CheckFinished))
