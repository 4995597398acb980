"""The server's settings or counters contradict what was asked of it."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.record import CandidateRecord
from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.settings import as_text, asks_for_speculation, is_off
from shakedown.judge.speculation import Speculation, observe
from shakedown.judge.view import Judged
from shakedown.judge.wording import listed

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
    yield from _settings(judged)


def _speculation(judged: Judged, record: CandidateRecord) -> Iterator[Finding]:
    candidate = record.candidate
    seen = observe(judged.points(candidate.id))
    algorithm = judged.effective(candidate.id, "speculative_algorithm")
    said_on = algorithm is not None and not is_off(str(algorithm))
    evidence: dict[str, object] = {
        "speculative_algorithm": algorithm,
        "drafted_tokens": seen.drafted if seen else None,
        "generated_tokens": seen.generated if seen else None,
        "accept_length": seen.accept_length if seen else None,
    }
    name = judged.label(candidate.id)
    if asks_for_speculation(candidate):
        off = _why_off(seen, said_off=not said_on and _says(judged, candidate.id, "speculative_algorithm"))
        if off is not None:
            yield Finding(
                kind=KIND,
                summary=f"{name} was asked to speculate, and {off}.",
                evidence=evidence,
                candidates=(candidate.id,),
                advice="Check the speculation arguments and read the log for why it is off (an environment variable "
                "alone does not switch it on); do not count this as a test of speculation.",
            )
    elif (seen is not None and seen.drafting) or said_on:
        what = _what_it_did(seen) if seen is not None and seen.drafting else f"says that it runs {algorithm}"
        yield Finding(
            kind=KIND,
            summary=f"{name} was not asked to speculate, and the server {what}: it is no plain baseline.",
            evidence=evidence,
            candidates=(candidate.id,),
            advice="Switch speculation off explicitly in this candidate, or look for a config file, an environment "
            "variable or another server that switches it on.",
        )


def _why_off(seen: Speculation | None, *, said_off: bool) -> str | None:
    if seen is not None and not seen.drafting:
        generated = f" while it generated {seen.generated:.0f}" if seen.generated else ""
        return f"the server drafted 0 tokens{generated}"
    return "the server says that speculation is off" if seen is None and said_off else None


def _what_it_did(seen: Speculation) -> str:
    if seen.drafted is not None:
        return f"drafted {seen.drafted:.0f} tokens"
    return f"gave {seen.accept_length:.2f} tokens a step"


def _settings(judged: Judged) -> Iterator[Finding]:
    """Values read back as others; candidates that were asked for the same and got the same are one finding."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for record in judged.evidence.candidates:
        candidate = record.candidate
        for argument, key in _READ_BACK.items():
            if argument not in candidate.args:
                continue
            asked, said = as_text(candidate.args[argument]), judged.effective(candidate.id, key)
            if said is None or asked.lower() in _LEFT_TO_THE_SERVER or _normal(asked) == _normal(str(said)):
                continue
            groups.setdefault((argument, asked, str(said)), []).append(candidate.id)
    for (argument, asked, effective), candidates in groups.items():
        names = listed([judged.label(candidate_id) for candidate_id in candidates])
        were, run = ("was", "runs") if len(candidates) == 1 else ("were", "run")
        server = "server" if len(candidates) == 1 else "servers"
        yield Finding(
            kind=KIND,
            summary=f"{names} {were} asked for {argument} {asked}, and the {server} {run} with {effective}.",
            evidence={"argument": argument, "asked": asked, "effective": effective},
            candidates=tuple(candidates),
            advice=f"Do not read these figures as those of {argument} {asked}; find in the log why it was changed.",
        )


def _says(judged: Judged, candidate_id: str, key: str) -> bool:
    trials = judged.trials.get(candidate_id, [])
    return any(trial.ready is not None and key in trial.ready.effective for trial in trials)


def _normal(value: str) -> str:
    plain = value.lower().removeprefix("torch.").replace("float8_e4m3fn", "fp8_e4m3")
    return _SAME.get(plain, plain)
