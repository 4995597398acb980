"""The knee of a throughput-latency curve: where more load stops buying throughput and starts costing latency. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from shakedown.domain.metric import PointSummary

MIN_POINTS = 3


def knee(points: Sequence[PointSummary]) -> PointSummary | None:
    """The point whose gain in throughput most exceeds its cost in latency, both scaled to the curve's range.

    This is the distance from the chord that Satopää et al. maximise ("Finding a Kneedle in a Haystack", 2011). None
    for fewer than three levels, and where the curve has not bent: from the knee on throughput must grow by less than
    the square root of the load.
    """
    curve = [
        (load, point.output_tokens_per_s, point.e2el_s.mean, point)
        for point in points
        if (load := point.concurrency or point.request_rate)
        and point.output_tokens_per_s is not None
        and point.e2el_s is not None
    ]
    if len({load for load, _, _, _ in curve}) < MIN_POINTS:
        return None
    rates = [rate for _, rate, _, _ in curve]
    latencies = [latency for _, _, latency, _ in curve]
    rate_range, latency_range = max(rates) - min(rates), max(latencies) - min(latencies)
    if rate_range <= 0 or latency_range <= 0:
        return None
    gains = [
        (rate - min(rates)) / rate_range - (latency - min(latencies)) / latency_range for _, rate, latency, _ in curve
    ]
    load, rate, _, best = curve[gains.index(max(gains))]
    top_load, top_rate, _, _ = max(curve, key=lambda row: row[0])
    bent = top_load > load and top_rate / rate < (top_load / load) ** 0.5
    return best if bent else None
