"""Campaign results as a real campaign leaves them: the demo's (llama.cpp on two cores), and a large one for load."""

from __future__ import annotations

import random
from typing import Any

from shakedown.domain.check import CheckResult
from shakedown.domain.failure import Failure, Remedy, Symptom
from shakedown.domain.metric import ClientProof, CounterWindow, Distribution, PointSummary
from shakedown.domain.result import (
    CampaignInfo,
    CampaignResult,
    CandidateResult,
    Comparison,
    DecisionRule,
    Finding,
    StandingResult,
    TrialResult,
    Winner,
)
from shakedown.domain.words import (
    Category,
    CheckVerdict,
    ComparisonStatus,
    FindingKind,
    Stage,
    Standing,
    Verdict,
)

START = 1_790_000_000.0
MODEL = "/models/SmolLM2-135M-Instruct.Q4_1.gguf"
V_CACHE_LINE = "llama_init_from_model: V cache quantization requires flash_attn"
KL_LIMIT = 0.05


def distribution(p50: float, spread: float = 1.4, samples: int = 64) -> Distribution:
    return Distribution(
        mean=p50 * 1.05, p50=p50, p90=p50 * spread, p99=p50 * spread * 1.5, max=p50 * spread * 2, samples=samples
    )


def point(
    workload: str,
    concurrency: int,
    repeat: int,
    tokens_per_s: float,
    *,
    accept_length: float | None = None,
    ok: int = 16,
) -> PointSummary:
    requests = 16
    return PointSummary(
        workload=workload,
        concurrency=concurrency,
        repeat=repeat,
        requests=requests,
        ok=ok,
        errors={} if ok == requests else {"timeout": requests - ok},
        duration_s=64 * ok / tokens_per_s,
        output_tokens=64 * ok,
        input_tokens=128 * ok,
        output_tokens_per_s=tokens_per_s,
        per_request_tokens_per_s=tokens_per_s / concurrency * 0.92,
        requests_per_s=tokens_per_s / 64,
        ttft_s=distribution(0.11 * concurrency),
        itl_s=distribution(concurrency / tokens_per_s * 0.9),
        tpot_s=distribution(concurrency / tokens_per_s, 1.2, 16),
        e2el_s=distribution(64 * concurrency / tokens_per_s, 1.1, 16),
        accept_length=accept_length,
        draft_acceptance_rate=None if accept_length is None else (accept_length - 1) / 3,
        client=ClientProof(
            cpu_s=0.04, send_lateness_s=distribution(0.0002, 2), loop_lag_s=distribution(0.0004, 2), limited=False
        ),
        counters=CounterWindow(generated_tokens=64.0 * ok, drafts=200.0 if accept_length else None),
    )


def _points(
    noise: random.Random, speed: float, slots: int, accept: dict[str, float] | None
) -> tuple[PointSummary, ...]:
    points = []
    for workload, base in (("prose", 96.0), ("random-tokens", 91.0)):
        for concurrency in (1, 2, 4):
            gain = 1 + 0.32 * (min(concurrency, slots) - 1) ** 0.7
            length = None if accept is None else accept[workload]
            lift = 1.0 if length is None else length / 1.31
            for repeat in (0, 1):
                rate = base * speed * gain * lift * noise.gauss(1, 0.012)
                points.append(point(workload, concurrency, repeat, rate, accept_length=length))
    return tuple(points)


def accuracy(kl: float) -> CheckResult:
    passed = kl <= KL_LIMIT
    return CheckResult(
        name="accuracy",
        verdict=CheckVerdict.PASS if passed else CheckVerdict.FAIL,
        summary=f"mean KL divergence {kl:.4f} nats over 192 positions, limit {KL_LIMIT}",
        evidence={"mean_kl": kl, "max_kl": KL_LIMIT, "p99_kl": kl * 6, "positions": 192, "top1_agreement": 1 - kl},
        seconds=3.2,
        fails_as=Verdict.INACCURATE,
    )


SMOKE = CheckResult(
    name="smoke",
    verdict=CheckVerdict.PASS,
    summary="8 of 8 answers are text, no run of one token",
    evidence={"prompts": 8, "sample": "The capital of France is Paris."},
    seconds=1.1,
)

NGRAM = {"prose": 1.62, "random-tokens": 1.24}
"""Accept length by workload."""

Row = tuple[str, dict[str, Any], dict[str, str], float | None, float, dict[str, float] | None]
ROWS: tuple[Row, ...] = (
    # label, arguments, settings, speed (None: refuses to start), mean KL, accept length by workload
    ("baseline", {}, {"kv": "f16", "threads": "2", "slots": "4", "speculation": "off"}, 1.0, 0.0, None),
    ("kv=k-q8_0", {"cache-type-k": "q8_0"}, {"kv": "k-q8_0"}, 0.97, 0.0009, None),
    ("kv=k-q4_0", {"cache-type-k": "q4_0"}, {"kv": "k-q4_0"}, 0.94, 0.0871, None),
    ("kv=kv-q8_0", {"cache-type-k": "q8_0", "cache-type-v": "q8_0"}, {"kv": "kv-q8_0"}, None, 0.0, None),
    ("kv=kv-q4_0", {"cache-type-k": "q4_0", "cache-type-v": "q4_0"}, {"kv": "kv-q4_0"}, None, 0.0, None),
    ("threads=1", {"threads": 1}, {"threads": "1"}, 0.58, 0.0, None),
    ("threads=4", {"threads": 4}, {"threads": "4"}, 0.31, 0.0, None),
    ("slots=1", {"parallel": 1}, {"slots": "1"}, 1.004, 0.0, None),
    ("slots=2", {"parallel": 2}, {"slots": "2"}, 1.002, 0.0, None),
    ("speculation=ngram", {"spec-type": "ngram-simple"}, {"speculation": "ngram"}, 0.98, 0.0, NGRAM),
    (
        "speculation=ngram, kv=k-q8_0",
        {"spec-type": "ngram-simple", "cache-type-k": "q8_0"},
        {"speculation": "ngram", "kv": "k-q8_0"},
        0.95,
        0.0009,
        NGRAM,
    ),
    (
        "speculation=ngram, slots=2",
        {"spec-type": "ngram-simple", "parallel": 2},
        {"speculation": "ngram", "slots": "2"},
        0.975,
        0.0,
        NGRAM,
    ),
)


def demo_result(*, complete: bool = True) -> CampaignResult:
    """Fourteen candidates: qualified, refused, mended, inaccurate and, if not ``complete``, one not run."""
    noise = random.Random(7)
    base_args: dict[str, Any] = {"flash-attn": "off", "ctx-size": 2048, "parallel": 4, "threads": 2}
    base_settings = {"kv": "f16", "threads": "2", "slots": "4", "speculation": "off"}
    candidates: list[CandidateResult] = []
    for number, (label, args, settings, speed, kl, accept) in enumerate(ROWS):
        merged = base_args | args
        common: dict[str, Any] = {
            "id": f"{number:012x}",
            "label": label,
            "settings": base_settings | settings,
            "args": merged,
            "env": {"LLAMA_LOG_COLORS": "off"},
            "command": _command(merged),
            "launches": 1,
            "lossy": (f"the K cache is kept in {merged['cache-type-k']}",) if "cache-type-k" in merged else (),
        }
        if speed is None:
            candidates.append(_refused(common, mended_by=f"{number + 100:012x}"))
            candidates.append(_mended(common, number, noise))
        else:
            candidates.append(_measured(common, speed, kl, accept, noise))
    best = max((c for c in candidates if c.objective), key=lambda c: c.objective or 0)
    candidates = [_stand(candidate, best) for candidate in candidates]
    if not complete:
        last = candidates[-1]
        candidates[-1] = last.model_copy(
            update={
                "verdict": Verdict.NOT_RUN,
                "reason": "not reached yet",
                "points": (),
                "checks": (),
                "standing": None,
                "objective": None,
                "objective_interval": None,
                "launches": 0,
                "boot_s": None,
            }
        )
    return CampaignResult(
        campaign=CampaignInfo(
            name="demo",
            folder="/home/ada/shakedown-demo",
            shakedown_version="0.1.0",
            started_at=START,
            finished_at=START + 214 if complete else None,
            complete=complete,
            reference=candidates[0].id,
            decision=DecisionRule(
                objective="output_tokens_per_s",
                margin=0.10,
                confidence=0.95,
                launches=1,
                repeats=2,
                launch_variance_measured=False,
            ),
            workloads=tuple(
                {"name": name, "prompts": [source], "input_tokens": 128, "output_tokens": 64, "concurrency": [1, 2, 4]}
                for name, source in (("prose", "text:prose"), ("random-tokens", "random-tokens"))
            ),
            overhead_share=0.061,
        ),
        machine={
            "hostname": "box",
            "cpu": {"model": "AMD EPYC 9654", "cores": 2},
            "memory_bytes": 8_000_000_000,
            "gpus": [],
        },
        model={"path": MODEL, "name": "smollm2-135m", "architecture": "llama", "parameters": 134_515_008},
        engine={"kind": "llama.cpp", "version": "b11549", "versions": {"xllamacpp": "2026.10.11549"}},
        candidates=tuple(candidates),
        comparisons=_comparisons(candidates, best),
        winner=Winner(
            id=best.id,
            label=best.label,
            command=best.command or "",
            why="fastest of those equal within the margin, and no lossy setting",
        ),
        findings=_findings(candidates),
        trials=_trials(candidates),
    )


def _command(args: dict[str, Any]) -> str:
    flags = " ".join(f"--{name} {value}" for name, value in args.items())
    return f"LLAMA_LOG_COLORS=off llama-server --model {MODEL} {flags} --host 127.0.0.1 --port 8000"


def _refused(common: dict[str, Any], mended_by: str) -> CandidateResult:
    return CandidateResult(
        **common,
        mended_by=mended_by,
        verdict=Verdict.PRUNED,
        reason="a quantised V cache needs flash attention; launched once, the log named the same remedy",
        rule="llama_cpp.v_cache_needs_flash_attention",
        rule_sources=("https://github.com/ggml-org/llama.cpp/blob/master/src/llama-context.cpp",),
        failure=Failure(
            category=Category.BAD_ARGUMENTS,
            signature="llama_cpp.v_cache_without_flash_attn",
            stage=Stage.BOOT,
            root_line=V_CACHE_LINE,
            line_number=112,
            title="A quantised V cache needs flash attention",
            cause="The V cache can only be read in a quantised type by the flash-attention kernels.",
            remedy=Remedy(advice="Turn flash attention on.", set_args={"flash-attn": "on"}),
            sources=("https://github.com/ggml-org/llama.cpp/blob/master/src/llama-context.cpp",),
        ),
    )


def _mended(common: dict[str, Any], number: int, noise: random.Random) -> CandidateResult:
    kind = str(common["args"]["cache-type-v"])
    args = common["args"] | {"flash-attn": "on"}
    derived = common | {
        "id": f"{number + 100:012x}",
        "label": f"{common['label']} + flash-attn=on",
        "args": args,
        "command": _command(args),
        "derived_from": common["id"],
    }
    speed, kl = (1.06, 0.0013) if kind == "q8_0" else (1.01, 0.1422)
    return _measured(derived, speed, kl, None, noise)


def _measured(
    common: dict[str, Any], speed: float, kl: float, accept: dict[str, float] | None, noise: random.Random
) -> CandidateResult:
    accurate = kl <= KL_LIMIT
    slots = int(common["args"]["parallel"])
    objective = speed * (1.13 if accept else 1.0) * (0.82 if slots == 1 else 1)
    return CandidateResult(
        **common,
        verdict=Verdict.QUALIFIED if accurate else Verdict.INACCURATE,
        reason="starts, answers, accurate" if accurate else f"mean KL {kl:.4f} nats is over the limit of {KL_LIMIT}",
        effective={
            "engine_version": "b11549",
            "max_running_requests": slots,
            "kv_cache_dtype": common["args"].get("cache-type-k", "f16"),
            "flash_attention": common["args"]["flash-attn"] == "on",
            "speculative_algorithm": common["args"].get("spec-type"),
            "threads": common["args"]["threads"],
        },
        warnings=(
            Symptom(
                signature=None,
                category=None,
                line_number=31,
                line="n_ctx_seq (512) < n_ctx_train (8192)",
                title="Part of the trained context is unused",
            ),
        ),
        boot_s=0.84,
        checks=(SMOKE, accuracy(kl)),
        points=_points(noise, speed, slots, accept) if accurate else (),
        objective=objective if accurate else None,
        objective_interval=(objective * 0.98, objective * 1.02) if accurate else None,
    )


def _stand(candidate: CandidateResult, best: CandidateResult) -> CandidateResult:
    if candidate.objective is None or best.objective is None:
        return candidate
    ratio = candidate.objective / best.objective
    status = Standing.EQUIVALENT if ratio > 0.93 else Standing.INCONCLUSIVE if ratio > 0.88 else Standing.SLOWER
    if candidate.id == best.id:
        status = Standing.BEST
    interval = None if candidate.id == best.id else (ratio * 0.97, ratio * 1.03)
    return candidate.model_copy(update={"standing": StandingResult(status=status, ratio=ratio, interval=interval)})


def _comparisons(candidates: list[CandidateResult], best: CandidateResult) -> tuple[Comparison, ...]:
    reference = candidates[0]
    found = []
    for other in candidates[1:]:
        if other.objective is None or reference.objective is None:
            continue
        ratio = other.objective / reference.objective
        status = (
            ComparisonStatus.BETTER
            if ratio > 1.1
            else ComparisonStatus.WORSE
            if ratio < 0.9
            else ComparisonStatus.EQUIVALENT
        )
        dimensions = [name for name in other.settings if other.settings[name] != reference.settings[name]]
        found.append(
            Comparison(
                a=other.id,
                b=reference.id,
                dimension=dimensions[0] if len(dimensions) == 1 else None,
                ratio=ratio,
                interval=(ratio * 0.97, ratio * 1.03),
                status=status,
            )
        )
    return tuple(found)


def _findings(candidates: list[CandidateResult]) -> tuple[Finding, ...]:
    by_label = {candidate.label: candidate.id for candidate in candidates}
    return (
        Finding(
            kind=FindingKind.SPECULATION,
            summary="n-gram speculation took effect: 1.62 tokens a step on prose, 1.24 on random tokens.",
            evidence={"prose": {"accept_length": 1.62, "break_even": 1.31}, "random-tokens": {"accept_length": 1.24}},
            candidates=(by_label["speculation=ngram"],),
            advice="Keep it for prose; turn it off where the text does not repeat itself.",
        ),
        Finding(
            kind=FindingKind.EQUIVALENT,
            summary="2 and 4 slots are equal within 10 %: 1.002 [0.972, 1.032].",
            candidates=(by_label["baseline"], by_label["slots=2"]),
        ),
        Finding(
            kind=FindingKind.LAUNCH_VARIANCE_UNKNOWN,
            summary="Each candidate was launched once, so the difference between two launches is not in the intervals.",
            advice="Set launches = 2 under [decide].",
        ),
        Finding(
            kind=FindingKind.RULE_CONFIRMED,
            summary="The rule on quantised V caches was confirmed by a launch.",
            candidates=(by_label["kv=kv-q8_0"], by_label["kv=kv-q4_0"]),
        ),
    )


def _trials(candidates: list[CandidateResult]) -> tuple[TrialResult, ...]:
    trials = []
    clock = START + 4
    for number, candidate in enumerate(candidates):
        if candidate.launches == 0:
            continue
        seconds = 1.5 if candidate.failure else 15.0
        trials.append(
            TrialResult(
                id=f"{number:03d}-{candidate.id}",
                candidate=candidate.id,
                started_at=clock,
                finished_at=clock + seconds,
                boot_s=candidate.boot_s,
                phases=() if candidate.failure else (("weights", 0.3), ("warm-up", 0.7)),
                verdict=Verdict.FAILED if candidate.failure else candidate.verdict,
                log_file=f"trials/{number:03d}-{candidate.id}/server.log",
            )
        )
        clock += seconds + 0.4
    return tuple(trials)


def large_result(candidates: int = 200, levels: int = 10) -> CampaignResult:
    """Many qualified candidates, one workload, concurrency 1 to 512 by powers of two."""
    noise = random.Random(11)
    base = demo_result()
    many = []
    for number in range(candidates):
        speed = noise.uniform(0.5, 1.3)
        points = tuple(
            point("prose", 2**power, 0, 90 * speed * 2 ** (power * 0.8) * noise.gauss(1, 0.02))
            for power in range(levels)
        )
        many.append(
            base.candidates[0].model_copy(
                update={
                    "id": f"{number + 4096:012x}",
                    "label": f"kv={number % 7}, threads={number}",
                    "points": points,
                    "objective": speed,
                    "objective_interval": (speed * 0.98, speed * 1.02),
                }
            )
        )
    best = max(many, key=lambda candidate: candidate.objective or 0)
    many = [_stand(candidate, best) for candidate in many]
    return base.model_copy(
        update={
            "candidates": tuple(many),
            "winner": Winner(id=best.id, label=best.label, command=best.command or "", why="fastest"),
            "comparisons": (),
            "findings": (),
            "trials": _trials(many),
            "campaign": base.campaign.model_copy(update={"reference": many[0].id}),
        }
    )


HOSTILE = "</td><script>document.title='owned'</script><img src=x onerror=alert(1)> ${7*7} {{7*7}} \x1b[31m' \" `id`"


def hostile_result() -> CampaignResult:
    """The demo with hostile text wherever text from outside can stand."""
    base = demo_result()
    refused = next(candidate for candidate in base.candidates if candidate.failure)
    failure = (refused.failure or Failure(category=None, signature=None, stage=Stage.BOOT, root_line=None)).model_copy(
        update={"root_line": HOSTILE, "cause": HOSTILE, "title": HOSTILE, "sources": ("javascript:alert(1)",)}
    )
    candidates = tuple(
        candidate.model_copy(
            update={
                "label": candidate.label + HOSTILE,
                "reason": HOSTILE,
                "command": HOSTILE,
                "env": {"X": HOSTILE},
                "effective": {HOSTILE: HOSTILE},
                "failure": failure if candidate.failure else None,
                "points": tuple(p.model_copy(update={"workload": p.workload + HOSTILE}) for p in candidate.points),
            }
        )
        for candidate in base.candidates
    )
    winner = Winner(id=candidates[0].id, label=HOSTILE, command=HOSTILE, why=HOSTILE)
    finding = Finding(kind=FindingKind.SPECULATION, summary=HOSTILE, evidence={HOSTILE: HOSTILE}, advice=HOSTILE)
    campaign = base.campaign.model_copy(update={"name": HOSTILE, "folder": HOSTILE})
    return base.model_copy(
        update={
            "candidates": candidates,
            "winner": winner,
            "findings": (finding,),
            "campaign": campaign,
            "machine": {HOSTILE: HOSTILE},
            "engine": {"kind": "llama.cpp", "version": HOSTILE},
        }
    )
