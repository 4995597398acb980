"""Builds small campaigns for the judge: candidates by their options, trials by their figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shakedown.domain.base import ArgValue, Scalar
from shakedown.domain.candidate import Candidate, EngineRef, ModelRef
from shakedown.domain.check import CheckResult
from shakedown.domain.events import LaunchStarted, ServerReady, ServerStopped, TrialFinished
from shakedown.domain.failure import Failure, Symptom
from shakedown.domain.metric import ClientProof, CounterWindow, Distribution, PointSummary, Telemetry
from shakedown.domain.record import CandidateRecord, TrialRecord
from shakedown.domain.words import EngineKind, Verdict
from shakedown.domain.workload import Workload
from shakedown.judge import CampaignEvidence

ENGINE = EngineRef(kind=EngineKind.LLAMA_CPP)
MODEL = ModelRef(path="m.gguf", name="m")
TEXT = Workload(name="text", concurrency=(1, 4), input_tokens=64, output_tokens=64)
RANDOM = Workload(name="random", prompts=("random-tokens",), concurrency=(1, 4), input_tokens=64, output_tokens=64)


def candidate(
    label: str,
    args: Mapping[str, ArgValue] | None = None,
    settings: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    derived_from: str | None = None,
) -> Candidate:
    return Candidate(
        engine=ENGINE, model=MODEL, label=label, args=dict(args or {}), settings=dict(settings or {}),
        env=dict(env or {}), derived_from=derived_from,
    )  # fmt: skip


def spread(value: float) -> Distribution:
    return Distribution(mean=value, p50=value, p90=value, p99=value, max=value, samples=8)


def point(
    workload: str = "text", concurrency: int = 1, repeat: int = 0, tokens_per_s: float = 100.0, **changes: object
) -> PointSummary:
    content: dict[str, object] = {
        "workload": workload,
        "concurrency": concurrency,
        "repeat": repeat,
        "requests": 8,
        "ok": 8,
        "duration_s": 5.0,
        "output_tokens": 512,
        "output_tokens_per_s": tokens_per_s,
        "per_request_tokens_per_s": tokens_per_s / concurrency,
        "requests_per_s": tokens_per_s / 64,
        "ttft_s": spread(0.05),
        "itl_s": spread(concurrency / tokens_per_s),
        "tpot_s": spread(concurrency / tokens_per_s),
        "e2el_s": spread(64 * concurrency / tokens_per_s),
        "client": ClientProof(cpu_s=0.1, send_lateness_s=None, loop_lag_s=None, limited=False),
    }
    return PointSummary.model_validate({**content, **changes})


def points(
    speed: float = 100.0,
    *,
    workloads: Sequence[Workload] = (TEXT,),
    repeats: int = 3,
    noise: float = 0.002,
    **changes: object,
) -> list[PointSummary]:
    """Points of one launch: ``speed`` at concurrency 1, growing with it; repeats scatter by ``noise``, evenly."""
    return [
        point(
            workload.name,
            concurrency,
            repeat,
            speed * concurrency**0.7 * (1 + noise * (repeat - (repeats - 1) / 2)),
            **changes,
        )
        for workload in workloads
        for concurrency in workload.concurrency
        for repeat in range(repeats)
    ]


def trial(
    of: Candidate,
    measured: Sequence[PointSummary] = (),
    *,
    number: int = 1,
    verdict: Verdict = Verdict.QUALIFIED,
    reason: str = "passed every gate",
    failure: Failure | None = None,
    effective: Mapping[str, Scalar | None] | None = None,
    warnings: Sequence[Symptom] = (),
    checks: Sequence[CheckResult] = (),
    pid: int | None = None,
    process_started_at: float | None = None,
) -> TrialRecord:
    at = 1000.0 * number
    pid = pid if pid is not None else 100 + number
    return TrialRecord(
        id=f"{number:04d}-{of.id}",
        candidate_id=of.id,
        state="finished",
        begun_at=at,
        ended_at=at + 60,
        launch=LaunchStarted(at=at + 1, argv=("server",), env={}, pid=pid, port=1, log_file="server.log"),
        ready=None
        if verdict is Verdict.FAILED
        else ServerReady(
            at=at + 3,
            boot_s=2.0,
            base_url="http://127.0.0.1:1",
            pid=pid,
            process_started_at=at + 1 if process_started_at is None else process_started_at,
            effective=dict(effective or {}),
            warnings=tuple(warnings),
        ),
        checks=tuple(checks),
        points=tuple(measured),
        load_s=40.0,
        stopped=ServerStopped(at=at + 60, exit_code=0, signal=None, forced=False, seconds=1.0, memory_freed=None),
        outcome=TrialFinished(at=at + 60, verdict=verdict, reason=reason, failure=failure, warnings=tuple(warnings)),
    )


def campaign(
    candidates: Sequence[CandidateRecord | Candidate],
    trials: Sequence[TrialRecord],
    *,
    workloads: Sequence[Workload] = (TEXT,),
    **changes: object,
) -> CampaignEvidence:
    records = [
        item if isinstance(item, CandidateRecord) else CandidateRecord(candidate=item, command=f"serve {item.label}")
        for item in candidates
    ]
    content: dict[str, object] = {
        "name": "c",
        "folder": "/results",
        "shakedown_version": "0",
        "complete": True,
        "wall_s": 100.0,
        "repeats": 3,
        "workloads": tuple(workloads),
        "candidates": tuple(records),
        "trials": tuple(trials),
        "first_values": records[0].candidate.id if records else None,
    }
    return CampaignEvidence.model_validate({**content, **changes})


def counters(
    generated: float = 512,
    drafts: float | None = None,
    drafted: float | None = None,
    accepted: float | None = None,
    **rest: object,
) -> CounterWindow:
    return CounterWindow.model_validate(
        {
            "generated_tokens": generated,
            "drafts": drafts,
            "drafted_tokens": drafted,
            "accepted_tokens": accepted,
            **rest,
        }
    )


__all__ = ["RANDOM", "TEXT", "Telemetry", "campaign", "candidate", "counters", "point", "points", "spread", "trial"]
