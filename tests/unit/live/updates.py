"""The updates of a short campaign, as the runner sends them."""

from __future__ import annotations

from tests.unit.report.sample_results import point

from shakedown.domain.check import CheckResult
from shakedown.domain.events import (
    CheckFinished,
    Event,
    LaunchStarted,
    PhaseReached,
    PointFinished,
    PointProgress,
    PointStarted,
    ServerReady,
    ServerStopped,
    TrialFinished,
    TrialStarted,
)
from shakedown.domain.progress import (
    CampaignEnded,
    CampaignStarted,
    CampaignUpdate,
    CandidateAdded,
    CandidateJudged,
    TimeLeft,
    TrialBegan,
    TrialEvent,
)
from shakedown.domain.words import CheckVerdict, Verdict

START = 1_790_000_000.0


def trial_events(at: float, *, repeats: int = 2) -> list[Event]:
    events: list[Event] = [
        TrialStarted(at=at, candidate_id="a" * 12, pid=100, host="box"),
        LaunchStarted(at=at + 1, argv=("llama-server",), env={}, pid=101, port=45123, log_file="trials/1/server.log"),
        PhaseReached(at=at + 2, phase="weights", elapsed_s=0.4),
        ServerReady(
            at=at + 3, boot_s=0.84, base_url="http://127.0.0.1:45123", pid=101, process_started_at=at + 1, effective={}
        ),
        CheckFinished(
            at=at + 4,
            check=CheckResult(name="smoke", verdict=CheckVerdict.PASS, summary="8 of 8 are text", seconds=1.0),
        ),
    ]
    for repeat in range(repeats):
        common = {"workload": "prose", "concurrency": 4, "request_rate": None, "repeat": repeat, "requests": 16}
        events.append(PointStarted(at=at + 5 + repeat, **common))
        events += [
            PointProgress(at=at + 5 + repeat, done=done, output_tokens_per_s=150.0, running=4, **common)
            for done in range(16)
        ]
        events.append(PointFinished(at=at + 6 + repeat, point=point("prose", 4, repeat, 161.0), records_file=None))
    return events


def stopping(at: float) -> list[Event]:
    return [
        ServerStopped(at=at, exit_code=0, signal=None, forced=False, seconds=0.2, memory_freed=None),
        TrialFinished(at=at, verdict=Verdict.QUALIFIED, reason="starts, answers"),
    ]


def until_load(name: str = "demo") -> list[CampaignUpdate]:
    """Up to the middle of the first candidate's second load point."""
    updates: list[CampaignUpdate] = [
        CampaignStarted(at=START, name=name, folder="/tmp/demo", candidates=2, pruned=1, estimated_s=120.0),
        TrialBegan(at=START + 1, trial_id="t1", candidate_id="a" * 12, label="baseline", index=1, of=2),
    ]
    updates += [TrialEvent(at=event.at, trial_id="t1", event=event) for event in trial_events(START + 1)[:-1]]
    return [*updates, TimeLeft(at=START + 20, seconds=60.0)]


def whole_campaign() -> list[CampaignUpdate]:
    updates = until_load()
    last = trial_events(START + 1)[-1]
    updates += [TrialEvent(at=event.at, trial_id="t1", event=event) for event in [last, *stopping(START + 21)]]
    return [
        *updates,
        CandidateJudged(
            at=START + 22, candidate_id="a" * 12, label="baseline", verdict=Verdict.QUALIFIED,
            reason="starts, answers, accurate", headline="161 tok/s at 4",
        ),
        TrialBegan(at=START + 23, trial_id="t2", candidate_id="b" * 12, label="kv=kv-q8_0", index=2, of=2),
        CandidateJudged(
            at=START + 24, candidate_id="b" * 12, label="kv=kv-q8_0", verdict=Verdict.FAILED,
            reason="V cache quantization requires flash_attn",
        ),
        CandidateAdded(
            at=START + 24, candidate_id="c" * 12, label="kv=kv-q8_0 + flash-attn=on", derived_from="kv=kv-q8_0",
            remedy="flash-attn on",
        ),
        CampaignEnded(at=START + 60, winner="baseline"),
    ]  # fmt: skip
