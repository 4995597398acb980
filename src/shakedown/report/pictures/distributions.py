"""Latency distributions at the highest load: median, 90th and 99th percentile, maximum, a row a candidate."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from markupsafe import Markup

from shakedown.domain.metric import Distribution, PointSummary
from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.domain.units import latency
from shakedown.report.pictures.draw import (
    RIGHT,
    WIDTH,
    Panel,
    Picture,
    group,
    line,
    shorten,
    svg,
    tag,
    text,
    tick_latency,
)
from shakedown.report.pictures.scale import Scale, spread
from shakedown.report.tables import ranked, workloads

MOST_ROWS = 12
"""The best ones; more rows than this are not compared by eye, and the figures of all are in the tables."""

ROW, HEAD, FOOT, NAMES = 24.0, 22.0, 30.0, 170.0

METRICS: tuple[tuple[str, Callable[[PointSummary], Distribution | None]], ...] = (
    ("time to first token", lambda point: point.ttft_s),
    ("inter-token latency", lambda point: point.itl_s),
)


def draw(result: CampaignResult) -> list[Panel]:
    """Two panels a workload, for the best candidates at its highest load."""
    return [
        panel
        for workload in workloads(result)
        for name, metric in METRICS
        if (panel := _panel(result, workload, name, metric)) is not None
    ]


def _panel(
    result: CampaignResult, workload: str, name: str, metric: Callable[[PointSummary], Distribution | None]
) -> Panel | None:
    highest = max(
        (_load(point) for candidate in result.candidates for point in candidate.points if point.workload == workload),
        default=None,
    )
    rows = []
    for candidate in ranked(result):
        point = next((p for p in candidate.points if p.workload == workload and _load(p) == highest), None)
        distribution = metric(point) if point else None
        if distribution is not None:
            rows.append((candidate, distribution))
    rows = rows[:MOST_ROWS]
    if not rows:
        return None
    height = HEAD + ROW * len(rows) + FOOT
    x = spread(
        (value for _, d in rows for value in (d.p50, d.p90, d.p99, d.max) if value is not None), NAMES, WIDTH - RIGHT
    )
    marks = [_row(candidate, d, x, HEAD + ROW * (index + 0.5)) for index, (candidate, d) in enumerate(rows)]
    title = f"{workload} at {highest:g}: {name}"
    return Panel(title, svg(f"{title}; the figures are in the tables below.", _axis(x, height), *marks, height=height))


def _load(point: PointSummary) -> float:
    return point.concurrency or point.request_rate or 0.0


def _axis(x: Scale, height: float) -> Markup:
    bottom = height - FOOT
    parts = []
    for value in x.ticks(4):
        parts += [
            line(x(value), HEAD - 6, x(value), bottom),
            text(x(value), bottom + 16, tick_latency(value), anchor="middle"),
        ]
    return tag("g", *parts, aria_hidden="true")


def _row(candidate: CandidateResult, d: Distribution, x: Scale, y: float) -> Markup:
    words = (
        f"p50 {latency(d.p50)}, p90 {latency(d.p90)}, p99 {latency(d.p99)}, max {latency(d.max)}, {d.samples} samples"
    )
    return group(
        candidate,
        tag("title", words),
        text(NAMES - 10, y + 4, shorten(candidate.label, 23), "row-name", "end"),
        *_spread_marks(d, x, y),
        tag("circle", cx=x(d.p50), cy=y, r=4),
    )


def _spread_marks(d: Distribution, x: Scale, y: float) -> Iterator[Markup]:
    """What lies above the median, as far as it is known."""
    if d.max is not None:
        yield line(x(d.p50), y, x(d.max), y, "whisker")
    if d.p90 is not None:
        yield tag("rect", x=x(d.p50), y=y - 5, width=max(x(d.p90) - x(d.p50), 1), height=10, class_="box")
    if d.p99 is not None:
        yield line(x(d.p99), y - 5, x(d.p99), y + 5, "whisker")


PICTURE = Picture(
    name="distributions",
    title="Latency distributions",
    caption="Dot: median. Box: to the 90th percentile. Tick: 99th percentile. Line: to the maximum. The best "
    f"{MOST_ROWS} candidates at the highest load; a p99 of fewer than 100 samples is close to the maximum.",
    order=3,
    draw=draw,
)
