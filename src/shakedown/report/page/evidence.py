"""Evidence of each candidate: what was asked for, what the server said, gates, log lines, every load point."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shakedown.domain.failure import Remedy
from shakedown.domain.metric import Distribution, PointSummary
from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.domain.units import MISSING, latency, number
from shakedown.report import sentences
from shakedown.report.page.table import verdict_words
from shakedown.report.pictures.draw import role
from shakedown.report.tables import ranked

Pair = tuple[str, str]

POINT_HEADS = (
    "Workload",
    "Load",
    "Repeat",
    "Ok",
    "tok/s",
    "Per request",
    "TTFT p50 · p99",
    "ITL p50 · p99",
    "TPOT p50 · p99",
    "E2EL p50 · p99",
    "Accept length",
    "Send lateness p99",
    "Window",
)


@dataclass(frozen=True, slots=True)
class Gate:
    """One check with its evidence."""

    name: str
    verdict: str
    summary: str
    evidence: list[Pair]


@dataclass(frozen=True, slots=True)
class Item:
    """Everything that is shown of one candidate."""

    candidate: CandidateResult
    label: str
    role: str
    verdict_words: str
    why: str
    remedy: str
    mended_by: str | None
    derived_from: str | None
    sources: list[str]
    asked: list[Pair]
    effective: list[Pair]
    gates: list[Gate]
    points: list[list[str]]
    logs: list[str]


def items(result: CampaignResult) -> list[Item]:
    """Evidence in the order of the table."""
    labels = {candidate.id: candidate.label for candidate in result.candidates}
    logs: dict[str, list[str]] = {}
    for trial in result.trials:
        if trial.log_file is not None:
            logs.setdefault(trial.candidate, []).append(trial.log_file)
    return [_item(candidate, result, labels, logs.get(candidate.id, [])) for candidate in ranked(result)]


def _item(candidate: CandidateResult, result: CampaignResult, labels: Mapping[str, str], logs: list[str]) -> Item:
    failure = candidate.failure
    return Item(
        candidate=candidate,
        label=candidate.label or candidate.id,
        role=role(candidate),
        verdict_words=verdict_words(candidate).replace("_", " "),
        why=sentences.why(candidate, result),
        remedy=remedy_words(failure.remedy) if failure and failure.remedy else "",
        mended_by=labels.get(candidate.mended_by or ""),
        derived_from=labels.get(candidate.derived_from or ""),
        sources=list(dict.fromkeys([*candidate.rule_sources, *(failure.sources if failure else ())])),
        asked=[*((name, _value(value)) for name, value in candidate.args.items()), *candidate.env.items()],
        effective=flatten(candidate.effective),
        gates=[Gate(c.name, c.verdict.value, c.summary, flatten(c.evidence)) for c in candidate.checks],
        points=[_cells(point) for point in candidate.points],
        logs=logs,
    )


def remedy_words(remedy: Remedy) -> str:
    """The change that a remedy makes, as one would type it."""
    parts = [f"--{name} {_value(value)}" for name, value in remedy.set_args.items()]
    parts += [f"without --{name}" for name in remedy.remove_args]
    parts += [f"{name}={value}" for name, value in remedy.set_env.items()]
    parts += [f"without {name}" for name in remedy.remove_env]
    return ", ".join(parts)


def flatten(values: Mapping[str, object], prefix: str = "") -> list[Pair]:
    """Nested values as pairs of a dotted name and words; what is not known is a dash."""
    pairs: list[Pair] = []
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            pairs += flatten(value, f"{prefix}{name}.")
        elif isinstance(value, Sequence) and not isinstance(value, str) and any(isinstance(v, Mapping) for v in value):
            pairs += flatten({str(index): one for index, one in enumerate(value)}, f"{prefix}{name}.")
        else:
            pairs.append((f"{prefix}{name}", _value(value)))
    return pairs


def _value(value: object) -> str:
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Iterable) and not isinstance(value, str | Mapping):
        return ", ".join(_value(one) for one in value) or "none"
    return str(value) if value != {} else "none"


def _cells(point: PointSummary) -> list[str]:
    load = str(point.concurrency) if point.concurrency is not None else f"{number(point.request_rate)}/s"
    errors = "".join(f", {count} {kind}" for kind, count in point.errors.items())
    lateness = point.client.send_lateness_s
    return [
        point.workload,
        load,
        str(point.repeat + 1),
        f"{point.ok}/{point.requests}{errors}",
        number(point.output_tokens_per_s),
        number(point.per_request_tokens_per_s),
        *(_percentiles(metric) for metric in (point.ttft_s, point.itl_s, point.tpot_s, point.e2el_s)),
        number(point.accept_length),
        latency(lateness.p99 if lateness else None) + (" limited" if point.client.limited else ""),
        point.window,
    ]


def _percentiles(distribution: Distribution | None) -> str:
    if distribution is None:
        return MISSING
    few = f" ({distribution.samples})" if distribution.samples < 100 else ""
    return f"{latency(distribution.p50)} · {latency(distribution.p99)}{few}"
