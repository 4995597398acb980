"""The knee of a throughput–latency curve: where more load stops buying throughput and starts costing latency. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from shakedown.domain.metric import PointSummary

MIN_POINTS = 3


def knee(points: Sequence[PointSummary]) -> PointSummary | None:
    """The point whose gain in throughput most exceeds its cost in latency, both scaled to the curve's range.

    This is the distance from the chord that Satopää et al. maximise ("Finding a Kneedle in a Haystack", 2011). None
    for fewer than three levels, or where throughput does not rise at all.
    """
    curve = [
        (point.output_tokens_per_s, point.e2el_s.mean, point)
        for point in points
        if point.output_tokens_per_s is not None and point.e2el_s is not None
    ]
    if len(curve) < MIN_POINTS:
        return None
    rates = [rate for rate, _, _ in curve]
    latencies = [latency for _, latency, _ in curve]
    rate_range, latency_range = max(rates) - min(rates), max(latencies) - min(latencies)
    if rate_range <= 0 or latency_range <= 0:
        return None

    def gain(row: tuple[float, float, PointSummary]) -> float:
        return (row[0] - min(rates)) / rate_range - (row[1] - min(latencies)) / latency_range

    return max(curve, key=gain)[2]
