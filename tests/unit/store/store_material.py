"""Small events and candidates for the store's tests."""

from shakedown.domain.candidate import Candidate, EngineRef, ModelRef
from shakedown.domain.events import PhaseReached, PointFinished, PointProgress, TrialFinished, TrialStarted
from shakedown.domain.metric import ClientProof, PointSummary
from shakedown.domain.record import CandidateRecord
from shakedown.domain.words import EngineKind, Verdict

SPEC = {"campaign": {"name": "c"}, "vary": [{"name": "kv", "values": ["f16", "q8_0"]}]}
TEXT = "[campaign]\nname = 'c'\n"


def candidate(**args: int) -> Candidate:
    return Candidate(
        engine=EngineRef(kind=EngineKind.LLAMA_CPP), model=ModelRef(path="m.gguf", name="m"), args=dict(args)
    )


def record(**args: int) -> CandidateRecord:
    return CandidateRecord(candidate=candidate(**args))


def started(candidate_id: str) -> TrialStarted:
    return TrialStarted(at=1.0, candidate_id=candidate_id, pid=1, host="h")


def point(repeat: int = 0, tokens_per_s: float = 100.0) -> PointSummary:
    return PointSummary(
        workload="w",
        concurrency=1,
        repeat=repeat,
        requests=1,
        ok=1,
        duration_s=1.0,
        output_tokens=100,
        output_tokens_per_s=tokens_per_s,
        per_request_tokens_per_s=tokens_per_s,
        requests_per_s=1.0,
        ttft_s=None,
        itl_s=None,
        tpot_s=None,
        e2el_s=None,
        client=ClientProof(cpu_s=0.1, send_lateness_s=None, loop_lag_s=None, limited=False),
    )


def point_finished(repeat: int = 0) -> PointFinished:
    return PointFinished(at=2.0, point=point(repeat), records_file=f"{repeat}.parquet")


def phase(name: str = "weights") -> PhaseReached:
    return PhaseReached(at=1.5, phase=name, elapsed_s=0.5)


def progress() -> PointProgress:
    return PointProgress(
        at=1.6, workload="w", concurrency=1, request_rate=None, repeat=0, done=1, requests=2,
        output_tokens_per_s=None, running=1,
    )  # fmt: skip


def finished(verdict: Verdict = Verdict.QUALIFIED) -> TrialFinished:
    return TrialFinished(at=3.0, verdict=verdict, reason="ok")
