"""The server's settings or counters contradict what was asked of it."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.record import CandidateRecord
from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.settings import as_text, asks_for_speculation
from shakedown.judge.speculation import draft_totals
from shakedown.judge.view import Judged

KIND = FindingKind.NOT_IN_EFFECT

_READ_BACK = {
    "kv-cache-dtype": "kv_cache_dtype",
    "cache-type-k": "kv_cache_dtype_k",
    "cache-type-v": "kv_cache_dtype_v",
    "attention-backend": "attention_backend",
    "flash-attn": "flash_attention",
    "threads": "threads",
}
"""Argument to the key under which the server says what it runs with (docs/architecture.md, Effective settings)."""

_LEFT_TO_THE_SERVER = frozenset({"auto", "default", "-1"})
_SAME = {"bfloat16": "bf16", "float16": "f16", "fp16": "f16", "half": "f16", "fp8": "fp8_e4m3", "true": "on", "1": "on",
         "enabled": "on", "false": "off", "0": "off", "disabled": "off"}  # fmt: skip
"""Spellings of one value in engines and in torch."""


def find(judged: Judged) -> Iterator[Finding]:
    """Speculation asked for and not seen, or seen and not asked for; a value read back as another."""
    for record in judged.evidence.candidates:
        if judged.trials.get(record.candidate.id):
            yield from _speculation(judged, record)
            yield from _settings(judged, record)


def _speculation(judged: Judged, record: CandidateRecord) -> Iterator[Finding]:
    candidate = record.candidate
    totals = draft_totals(judged.points(candidate.id))
    algorithm = judged.effective(candidate.id, "speculative_algorithm")
    evidence: dict[str, object] = {
        "speculative_algorithm": algorithm,
        "drafted_tokens": totals.drafted if totals else None,
        "generated_tokens": totals.generated if totals else None,
    }
    name = judged.label(candidate.id)
    if asks_for_speculation(candidate):
        if totals is not None and totals.drafted == 0:
            yield Finding(
                kind=KIND,
                summary=f"{name} was asked to speculate, and the server drafted 0 tokens while it generated "
                f"{totals.generated:.0f}.",
                evidence=evidence,
                candidates=(candidate.id,),
                advice="Read the server's log for why speculation is off, and do not count this as a test of it.",
            )
        elif totals is None and algorithm is None and _says(judged, candidate.id, "speculative_algorithm"):
            yield Finding(
                kind=KIND,
                summary=f"{name} was asked to speculate, and the server says that speculation is off.",
                evidence=evidence,
                candidates=(candidate.id,),
                advice="Check the speculation arguments: an environment variable alone does not switch it on.",
            )
    elif (totals is not None and totals.drafted > 0) or (algorithm is not None and _on(algorithm)):
        seen = f"drafted {totals.drafted:.0f} tokens" if totals and totals.drafted else f"says it runs {algorithm}"
        yield Finding(
            kind=KIND,
            summary=f"{name} was not asked to speculate, and the server {seen}: it is no plain baseline.",
            evidence=evidence,
            candidates=(candidate.id,),
            advice="Switch speculation off explicitly in this candidate, or look for a config file, an environment "
            "variable or another server that switches it on.",
        )


def _settings(judged: Judged, record: CandidateRecord) -> Iterator[Finding]:
    candidate = record.candidate
    for argument, key in _READ_BACK.items():
        if argument not in candidate.args:
            continue
        asked, said = as_text(candidate.args[argument]), judged.effective(candidate.id, key)
        if said is None or asked.lower() in _LEFT_TO_THE_SERVER or _normal(asked) == _normal(str(said)):
            continue
        yield Finding(
            kind=KIND,
            summary=f"{judged.label(candidate.id)} was asked for {argument} {asked}, and the server runs with {said}.",
            evidence={"argument": argument, "asked": asked, "effective": said},
            candidates=(candidate.id,),
            advice=f"Do not read its figures as those of {argument} {asked}; find in the log why it was changed.",
        )


def _says(judged: Judged, candidate_id: str, key: str) -> bool:
    trials = judged.trials.get(candidate_id, [])
    return any(trial.ready is not None and key in trial.ready.effective for trial in trials)


def _on(value: object) -> bool:
    return str(value).lower() not in {"", "none", "off", "false"}


def _normal(value: str) -> str:
    plain = value.lower().removeprefix("torch.").replace("float8_e4m3fn", "fp8_e4m3")
    return _SAME.get(plain, plain)
