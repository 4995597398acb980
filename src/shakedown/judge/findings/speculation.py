"""What speculation brought and why: accept length, break-even, gain, by workload and concurrency."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from shakedown.domain.metric import PointSummary
from shakedown.domain.record import CandidateRecord
from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.domain.workload import Workload
from shakedown.judge.caps import cap_of
from shakedown.judge.findings._draft_lengths import best_lengths, crossover, predictions
from shakedown.judge.settings import SPECULATION_ARG, as_text, asks_for_speculation, difference, speculation_only
from shakedown.judge.speculation import Speculation, break_even, observe
from shakedown.judge.view import Judged
from shakedown.judge.wording import gain, listed, percent
from shakedown.stats.arms import PointKey

KIND = FindingKind.SPECULATION

_POOR_RATE = 0.5
"""Acceptance rate under which more than half of the verified draft positions were wasted."""
_NEARLY_ALL = 0.95
"""Share of steps with a draft from which on it is not worth a word."""


@dataclass(frozen=True)
class _Level:
    """One workload at one load level: speculating points, and those of candidates that differ in nothing else."""

    concurrency: int | None
    speculating: list[PointSummary]
    plain: list[PointSummary]
    ratio: float | None
    """Measured objective over the plain one's."""
    capped: bool
    """One side ran fewer requests at once than were sent: its steps cannot be compared with the other's."""

    def break_even(self) -> float | None:
        return None if self.capped else break_even(self.speculating, self.plain)


def find(judged: Judged) -> Iterator[Finding]:
    """One finding for each way of speculating and workload, wherever the server counts drafts."""
    groups: dict[str, list[CandidateRecord]] = {}
    for record in judged.evidence.candidates:
        if asks_for_speculation(record.candidate) and judged.points(record.candidate.id):
            groups.setdefault(_way(record), []).append(record)
    for way, records in groups.items():
        for workload in judged.evidence.workloads:
            finding = _finding(judged, way, records, workload)
            if finding is not None:
                yield finding


def _way(record: CandidateRecord) -> str:
    args = record.candidate.args.items()
    return " ".join(f"{name}={as_text(value)}" for name, value in sorted(args) if SPECULATION_ARG.match(name))


def _finding(judged: Judged, way: str, records: list[CandidateRecord], workload: Workload) -> Finding | None:
    levels = _levels(judged, records, workload.name)
    seen = observe(point for level in levels for point in level.speculating)
    if seen is None:
        return None
    ratios = [level.ratio for level in levels if level.ratio is not None]
    overall = math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios)) if ratios else None
    lengths = [value for level in levels if (value := level.break_even()) is not None]
    needed = sum(lengths) / len(lengths) if lengths else None
    ids = tuple(record.candidate.id for record in records)
    predicted = predictions(judged, ids, workload, [point for level in levels for point in level.speculating])
    best = best_lengths(predicted, _plain_rates(levels))
    gains = {
        level.concurrency: level.ratio for level in levels if level.ratio and level.concurrency and not level.capped
    }
    crossing = crossover(gains)
    return Finding(
        kind=KIND,
        summary=_sentence(way, workload.name, seen, needed, overall)
        + _reason(seen, needed, overall, judged.evidence.margin)
        + "."
        + _beyond_cap(levels),
        evidence={
            "way": way,
            "workload": workload.name,
            "accept_length": seen.accept_length,
            "draft_acceptance_rate": seen.acceptance_rate,
            "verified_share_of_steps": seen.verified_share,
            "drafted_tokens": seen.drafted,
            "accepted_tokens": seen.accepted,
            "generated_tokens": seen.generated,
            "break_even_accept_length": needed,
            "gain_measured": overall - 1 if overall else None,
            "crossover_concurrency": crossing,
            "by_concurrency": [_level_evidence(level) for level in levels],
            "predicted": [asdict(one) for one in predicted],
            "best_draft_tokens": {str(at): {"draft_tokens": n, "gain": ratio - 1} for at, (n, ratio) in best.items()},
        },
        candidates=ids,
        advice=_advice(levels, seen, needed, overall, judged.evidence.margin) + _length_advice(best),
    )


def _beyond_cap(levels: list[_Level]) -> str:
    """No comparison crosses a cap without saying so."""
    beyond = [str(level.concurrency) for level in levels if level.capped and level.ratio]
    if not beyond:
        return ""
    return f" At concurrency {listed(beyond)} one of the two ran fewer requests at once than were sent."


def _plain_rates(levels: list[_Level]) -> dict[int, float]:
    """Output tokens per second without speculation, by concurrency, where both sides ran all requests at once."""
    rates = {}
    for level in levels:
        values = [point.output_tokens_per_s for point in level.plain if point.output_tokens_per_s]
        if values and level.concurrency is not None and not level.capped:
            rates[level.concurrency] = sum(values) / len(values)
    return rates


def _length_advice(best: dict[int, tuple[int, float]]) -> str:
    """Say the draft length for each concurrency, as predicted."""
    if not best:
        return ""
    told = [f"{length or 'none'} at {concurrency} ({gain(ratio)})" for concurrency, (length, ratio) in best.items()]
    return f" Tokens to draft by concurrency, predicted from launches with acceptance made up: {listed(told, limit=8)}."


def _levels(judged: Judged, records: list[CandidateRecord], workload: str) -> list[_Level]:
    levels: dict[tuple[int | None, float | None], tuple[list[PointSummary], list[PointSummary], list[float]]] = {}
    least_cap = math.inf
    for record in records:
        partner = _plain_partner(judged, record)
        for side in (record, partner):
            cap = cap_of(judged, side.candidate.id) if side else None
            least_cap = min(least_cap, cap[0] if cap else math.inf)
        ratios = _ratios(judged, record, partner)
        for point in judged.points(record.candidate.id):
            if point.workload == workload:
                levels.setdefault((point.concurrency, point.request_rate), ([], [], []))[0].append(point)
        for point in judged.points(partner.candidate.id) if partner else []:
            level = levels.get((point.concurrency, point.request_rate))
            if point.workload == workload and level is not None:
                level[1].append(point)
        for (name, concurrency, rate), ratio in ratios.items():
            if name == workload and (concurrency, rate) in levels:
                levels[concurrency, rate][2].append(math.log(ratio))
    return [
        _Level(
            concurrency,
            ours,
            plain,
            math.exp(sum(logs) / len(logs)) if logs else None,
            capped=concurrency is not None and concurrency > least_cap,
        )
        for (concurrency, _), (ours, plain, logs) in sorted(levels.items(), key=lambda item: item[0][0] or 0)
    ]


def _plain_partner(judged: Judged, record: CandidateRecord) -> CandidateRecord | None:
    """A measured candidate that differs in speculation alone, was not asked to speculate and did not.

    What a remedy added because speculation demands it (a scheduler strategy) belongs to speculation: candidates of
    one space that differ in one dimension are partners whatever their arguments.
    """
    plain = [
        other
        for other in judged.qualified()
        if other.candidate.id in judged.experiment.arms
        and not asks_for_speculation(other.candidate)
        and not _drafts(judged, other)
    ]
    partners = (
        other
        for other in plain
        if speculation_only(difference(record.candidate, other.candidate)) or _same_but_one(record, other)
    )
    return next(partners, None)


def _drafts(judged: Judged, record: CandidateRecord) -> bool:
    """Whether drafts were counted though none were asked for: such a candidate is no plain one."""
    seen = observe(judged.points(record.candidate.id))
    return seen is not None and seen.drafting


def _same_but_one(a: CandidateRecord, b: CandidateRecord) -> bool:
    ours, theirs = a.candidate.settings, b.candidate.settings
    return bool(ours) and sum(ours.get(name) != theirs.get(name) for name in ours.keys() | theirs.keys()) == 1


def _ratios(judged: Judged, record: CandidateRecord, partner: CandidateRecord | None) -> dict[PointKey, float]:
    if partner is None or record.candidate.id not in judged.experiment.arms:
        return {}
    return judged.experiment.point_ratios(record.candidate.id, partner.candidate.id)


def _level_evidence(level: _Level) -> dict[str, object]:
    seen, needed = observe(level.speculating), level.break_even()
    predicted = None
    if seen is not None and needed is not None:
        plain_share = 1 - seen.verified_share
        predicted = seen.tokens_per_step / (plain_share + seen.verified_share * needed) - 1
    return {
        "concurrency": level.concurrency,
        "accept_length": seen.accept_length if seen else None,
        "break_even_accept_length": needed,
        "gain_predicted": predicted,
        "gain_measured": level.ratio - 1 if level.ratio else None,
    }


def _sentence(way: str, workload: str, seen: Speculation, needed: float | None, overall: float | None) -> str:
    if not seen.drafting:
        generated = f" while {seen.generated:.0f} tokens were generated" if seen.generated else ""
        return f"Speculation ({way}) drafted nothing on {workload}{generated}"
    rate = f" ({percent(seen.acceptance_rate)} of drafts accepted)" if seen.acceptance_rate is not None else ""
    parts = [f"accept length {seen.accept_length:.2f}{rate}"]
    if seen.verified_share < _NEARLY_ALL:
        parts.append(f"drafts in {percent(seen.verified_share)} of steps")
    if needed is not None:
        parts.append(f"break-even {needed:.2f}")
    if overall is not None:
        parts.append(f"{gain(overall)} against the same without")
    return f"Speculation ({way}) on {workload}: {', '.join(parts)}"


def _reason(seen: Speculation, needed: float | None, overall: float | None, margin: float) -> str:
    if not seen.drafting or needed is None or overall is None:
        return ""
    if _within(overall, margin):
        return f"; that lies within the margin of {percent(margin)}: neither gain nor loss is shown"
    if overall > 1:
        return "; it pays"
    if seen.most_possible is not None and seen.most_possible < needed:
        return f"; verification is too dear: with every draft accepted the length would be {seen.most_possible:.2f}"
    if seen.acceptance_rate is not None and seen.acceptance_rate < _POOR_RATE:
        return "; the drafts are too poor for what a verification step costs"
    return "; a verification step costs more than the accepted drafts save"


def _within(ratio: float, margin: float) -> bool:
    """Whether a ratio is too near to one to be called a gain or a loss."""
    return abs(math.log(ratio)) <= math.log1p(margin)


def _advice(levels: list[_Level], seen: Speculation, needed: float | None, overall: float | None, margin: float) -> str:
    if not seen.drafting:
        return "Leave it out for this workload, or use a drafter that finds drafts in such text."
    alike = [level for level in levels if level.ratio and level.concurrency and not level.capped]
    shown = [level for level in alike if level.ratio and not _within(level.ratio, margin)]
    paying = [level.concurrency for level in shown if level.ratio and level.ratio > 1 and level.concurrency]
    losing = [level.concurrency for level in shown if level.ratio and level.ratio < 1 and level.concurrency]
    if paying and losing and max(paying) < min(losing):
        return f"Use it up to concurrency {max(paying)} and switch it off beyond: it no longer pays at {min(losing)}."
    if levels and not alike and overall is not None:
        return "Set the limit of running requests explicitly, equal with and without speculation, and measure again."
    if overall is None:
        return "Add a candidate that differs in speculation alone, to know what it brings."
    if _within(overall, margin):
        return "Leave it out for this workload, or measure with more launches or repeats to show what it brings."
    return "Keep it for this kind of text." if overall > 1 else _mend(seen, needed)


def _mend(seen: Speculation, needed: float | None) -> str:
    """What to change in speculation that does not pay."""
    if seen.most_possible is not None and needed is not None and seen.most_possible < needed:
        return "Leave it out for this workload, or shorten the draft so that a verification step costs less."
    return "Leave it out for this workload, or use a better drafter."
