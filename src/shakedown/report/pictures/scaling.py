"""Scaling: throughput over load, with the number of requests that the winner really runs at once."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from shakedown.domain.result import CampaignResult
from shakedown.domain.units import number
from shakedown.report.pictures.draw import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Panel,
    Picture,
    frame,
    group,
    line,
    mark,
    paint_order,
    path,
    svg,
    text,
    tick_number,
)
from shakedown.report.pictures.scale import Scale, logarithmic, spread
from shakedown.report.pictures.throughput_latency import words
from shakedown.report.tables import levels, workloads

MOST_ABOVE = 3.0
"""A ceiling further above what was measured than this is left out: it would press the measurements together."""


def draw(result: CampaignResult) -> list[Panel]:
    """One panel a workload that was run at two concurrencies or more."""
    return [panel for name in workloads(result) if (panel := _panel(result, name)) is not None]


def _panel(result: CampaignResult, workload: str) -> Panel | None:
    shown = {
        candidate.id: [
            (level, level.concurrency, level.output_tokens_per_s)
            for level in levels(candidate.points)
            if level.workload == workload and level.concurrency and level.output_tokens_per_s
        ]
        for candidate in result.candidates
    }
    everything = [point for points in shown.values() for point in points]
    loads = sorted({load for _, load, _ in everything if load})
    if len(loads) < 2:
        return None
    x = logarithmic(loads, LEFT + 10, WIDTH - RIGHT - 10)
    rates = [rate for _, _, rate in everything if rate]
    ceiling = [(load, rate) for load, rate in _ceiling(result, workload, loads) if rate <= max(rates) * MOST_ABOVE]
    y = spread([*rates, *(rate for _, rate in ceiling)], HEIGHT - BOTTOM, TOP + 8)
    marks = []
    for candidate in paint_order(result.candidates, result.campaign.reference):
        points = [(level, x(load), y(rate)) for level, load, rate in shown[candidate.id] if load and rate]
        if points:
            series = [path(((px, py) for _, px, py in points), "curve")]
            series += [mark(px, py, words(level), 3) for level, px, py in points]
            kind = "series reference" if candidate.id == result.campaign.reference else "series"
            marks.append(group(candidate, *series, class_=kind))
    axes = frame(
        x,
        y,
        x_title="requests at once, logarithmic",
        y_title="output tokens per second, all requests" + (", logarithmic" if y.logarithmic else ""),
        write_x=lambda value: f"{value:g}",
        write_y=tick_number,
        x_ticks=loads,
    )
    label = f"Throughput over concurrency on {workload}; the figures are in the tables below."
    return Panel(workload, svg(label, axes, *_cap(result, x), *_roof(ceiling, x, y), *marks))


def _ceiling(result: CampaignResult, workload: str, loads: Sequence[int]) -> list[tuple[int, float]]:
    """The winner's ceiling by the plan's roofline at each load, the lowest where several hold."""
    winner = result.winner.id if result.winner else None
    found = []
    for load in loads:
        holding = [
            ceiling.output_tokens_per_s
            for ceiling in result.ceilings
            if ceiling.candidate_id in {None, winner}
            and ceiling.workload in {None, workload}
            and ceiling.concurrency in {None, load}
        ]
        if holding:
            found.append((load, min(holding)))
    return found


def _roof(ceiling: Sequence[tuple[int, float]], x: Scale, y: Scale) -> list[Markup]:
    if not ceiling:
        return []
    points = [(x(load), y(rate)) for load, rate in ceiling]
    words_ = f"ceiling of the winner, {number(ceiling[-1][1])} tok/s at {ceiling[-1][0]}"
    return [path(points, "limit roof"), text(points[-1][0], points[-1][1] - 6, words_, "note", "end")]


def _cap(result: CampaignResult, x: Scale) -> list[Markup]:
    """Where the winner stops running more requests at once, as its server reported it."""
    winner = next((c for c in result.candidates if result.winner and c.id == result.winner.id), None)
    cap = winner.effective.get("max_running_requests") if winner else None
    if isinstance(cap, bool) or not isinstance(cap, int | float) or not x.low <= cap <= x.high:
        return []
    at = x(cap)
    words_ = f"the winner runs {cap:g} at once"
    anchor = "end" if at > WIDTH / 2 else "start"
    return [
        line(at, TOP + 8, at, HEIGHT - BOTTOM, "limit"),
        text(at + (-6 if anchor == "end" else 6), HEIGHT - BOTTOM - 8, words_, "note", anchor),
    ]


PICTURE = Picture(
    name="scaling",
    title="Scaling with concurrency",
    caption="Where a line goes flat, more requests at once only wait for each other. The upper dashed line, where "
    "there is one, is the most that the winner could do by the plan's roofline.",
    order=2,
    draw=draw,
)
