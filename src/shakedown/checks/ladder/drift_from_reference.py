"""Next-token distributions on frozen token ids must stay within a limit of the reference's.

This is what separates "faster" from "faster because it became a little more stupid": a quantised KV cache, a wrong RoPE
scale or a broken kernel that still writes fluent prose moves the distributions, at the positions where it acts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from shakedown.checks.base import Context, Outcome, Rung, failed, passed, skipped
from shakedown.checks.probing import DEPTHS, Measured, Place, freeze_sequences, measure
from shakedown.checks.reference import Point, Reference
from shakedown.domain.words import GateLevel, Verdict
from shakedown.engines.base import LogprobDialect
from shakedown.stats.divergence import Decision, Estimate, bootstrap_mean, decide, kl_from_top, tail_mass

MAX_KL = {GateLevel.QUICK: 0.1, GateLevel.STANDARD: 0.05, GateLevel.THOROUGH: 0.05}
"""Default limits of the mean KL divergence in nats; their sources are in docs/gates.md, "Limits"."""
EDGES = (128, 512, 2048, 8192, 32768, 131072)
"""Upper ends of the position buckets, in tokens of context."""
BUCKET_CLUSTERS = 5
"""Fewest independent stretches for which a bucket's interval is trusted to decide."""
BUCKET_CONFIDENCE = 0.99
"""Several buckets are looked at, so each one has to be surer than the whole."""


class _DriftFromReference:
    name = "drift_from_reference"
    rung = Rung.REFERENCE
    level = GateLevel.QUICK
    fails_as = Verdict.INACCURATE

    def run(self, context: Context) -> Outcome:
        if context.draft is not None:
            return _write(context, context.known_engine.logprobs)
        if context.reference is None:
            return skipped("no reference was given (--reference FILE)")
        if not context.reference.points:
            return skipped("the reference holds no log-probabilities")
        return _compare(context, context.reference, context.known_engine.logprobs)


CHECK = _DriftFromReference()


def _write(context: Context, dialect: LogprobDialect) -> Outcome:
    level = context.gates.level
    sequences, places = freeze_sequences(context, dialect)
    measured = measure(context.server, dialect, sequences, places, DEPTHS[level].budget_s)
    broken = _broken(measured)
    if broken:
        return failed("the reference itself gives log-probabilities that are no numbers", positions=broken[:5])
    points = [
        Point(sequence=m.place.sequence, position=m.place.position, stretch=m.place.stretch, top=dict(m.answer.top))
        for m in measured
    ]
    context.record(sequences=tuple(tuple(ids) for ids in sequences), points=tuple(points))
    reach = max(point.position for point in points)
    return passed(
        f"wrote the reference: {len(points)} positions up to {reach:,} tokens of context",
        positions=len(points),
        reach_tokens=reach,
        asked_tokens=context.gates.context_tokens,
    )


def _compare(context: Context, reference: Reference, dialect: LogprobDialect) -> Outcome:
    limit = context.gates.max_kl or MAX_KL[context.gates.level]
    places = [Place(point.sequence, point.position, point.stretch) for point in reference.points]
    measured = measure(context.server, dialect, reference.sequences, places)
    broken = _broken(measured)
    if broken:
        return failed(
            f"{len(broken)} of {len(measured)} positions have no finite log-probabilities", positions=broken[:5]
        )
    tops = {(point.sequence, point.position): point.top for point in reference.points}
    pairs = [(m.place, tops[m.place.sequence, m.place.position], m.answer.top) for m in measured]
    rows = [
        (place, kl, max(theirs, key=theirs.__getitem__) == max(ours, key=ours.__getitem__))
        for place, theirs, ours in pairs
        if (kl := kl_from_top(theirs, ours)) is not None
    ]
    whole = _estimate([kl for _, kl, _ in rows], [place for place, _, _ in rows], 0.95)
    agreement = _estimate([float(same) for _, _, same in rows], [place for place, _, _ in rows], 0.95)
    buckets = _buckets(rows, limit)
    drifted = [bucket for bucket in buckets if bucket["decision"] == Decision.ABOVE.value]
    decision = decide(whole, limit)
    reach = max(place.position for place, _, _ in rows)
    evidence: dict[str, object] = {
        "mean_kl": whole.mean,
        "interval": [whole.low, whole.high],
        "limit": limit,
        "decision": (Decision.ABOVE if drifted else decision).value,
        "top1_agreement": agreement.mean,
        "top1_interval": [agreement.low, agreement.high],
        "positions": whole.samples,
        "stretches": whole.clusters,
        "buckets": buckets,
        "reach_tokens": reach,
        "asked_tokens": context.gates.context_tokens,
        "mean_tail_mass": sum(tail_mass(theirs) for _, theirs, _ in pairs) / len(pairs),
    }
    interval = f"[{whole.low:.4f}, {whole.high:.4f}]"
    told = f"mean KL {whole.mean:.4f} nats {interval} over {whole.samples} positions up to {reach:,} tokens"
    if drifted and drifted[0] is not buckets[0]:
        first = drifted[0]
        told += f"; beyond {first['from']:,} tokens of context {first['mean_kl']:.4f}"
    if drifted or decision is Decision.ABOVE:
        return failed(f"{told}: above the limit of {limit:g}, interval and all", **evidence)
    if decision is Decision.UNDECIDED:
        return passed(
            f"{told}: undecided, the interval holds the limit of {limit:g}; a higher level decides", **evidence
        )
    return passed(f"{told}, limit {limit:g}", **evidence)


def _broken(measured: Sequence[Measured]) -> list[str]:
    return [
        f"sequence {m.place.sequence}, position {m.place.position}"
        for m in measured
        if not m.answer.top or not all(math.isfinite(value) for value in m.answer.top.values())
    ]


def _estimate(values: Sequence[float], places: Sequence[Place], confidence: float) -> Estimate:
    return bootstrap_mean(values, [place.stretch for place in places], confidence=confidence)


def _buckets(rows: Sequence[tuple[Place, float, bool]], limit: float) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for low, high in zip((0, *EDGES), (*EDGES, 2**40), strict=True):
        inside = [row for row in rows if low < row[0].position <= high]
        if not inside:
            continue
        places = [place for place, _, _ in inside]
        kl = _estimate([value for _, value, _ in inside], places, BUCKET_CONFIDENCE)
        enough = kl.clusters >= BUCKET_CLUSTERS
        found.append(
            {
                "from": low,
                "to": min(high, max(place.position for place in places)),
                "mean_kl": kl.mean,
                "interval": [kl.low, kl.high] if enough else None,
                "decision": decide(kl, limit).value if enough else Decision.UNDECIDED.value,
                "top1_agreement": sum(same for _, _, same in inside) / len(inside),
                "positions": kl.samples,
                "stretches": kl.clusters,
            }
        )
    return found
