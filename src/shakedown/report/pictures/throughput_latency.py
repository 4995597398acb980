"""Throughput of the whole server against what one user waits: every candidate, every load level, a panel a workload."""

from __future__ import annotations

from markupsafe import Markup

from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.domain.units import latency, number
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
    mark,
    paint_order,
    path,
    shorten,
    svg,
    text,
    tick_latency,
    tick_number,
)
from shakedown.report.pictures.scale import linear, spread
from shakedown.report.tables import Level, levels, workloads

MOST_CHARACTERS = 32
"""Of a label in the picture; the table has it whole."""


def draw(result: CampaignResult) -> list[Panel]:
    """One panel a workload; a level without both figures is left out."""
    return [panel for name in workloads(result) if (panel := _panel(result, name)) is not None]


def _panel(result: CampaignResult, workload: str) -> Panel | None:
    shown = {
        candidate.id: [(level, level.tpot_p50_s, level.output_tokens_per_s) for level in levels(candidate.points)
                       if level.workload == workload and level.tpot_p50_s and level.output_tokens_per_s]
        for candidate in result.candidates
    }  # fmt: skip
    everything = [point for points in shown.values() for point in points]
    if not everything:
        return None
    x = spread((wait for _, wait, _ in everything), LEFT, WIDTH - RIGHT)
    y = linear((rate for _, _, rate in everything), HEIGHT - BOTTOM, TOP + 8)
    marks = []
    for candidate in paint_order(result.candidates, result.campaign.reference):
        points = [(level, x(wait), y(rate)) for level, wait, rate in shown[candidate.id] if wait and rate]
        if points:
            marks.append(_series(candidate, points, result))
    axes = frame(
        x,
        y,
        x_title="time per output token, p50" + (", logarithmic" if x.logarithmic else ""),
        y_title="output tokens per second, all requests",
        write_x=tick_latency,
        write_y=tick_number,
    )
    label = f"Throughput against time per output token on {workload}; the figures are in the tables below."
    return Panel(workload, svg(label, axes, *marks))


def _series(candidate: CandidateResult, points: list[tuple[Level, float, float]], result: CampaignResult) -> Markup:
    parts = [path(((px, py) for _, px, py in points), "thread")] if len(points) > 1 else []
    parts += [mark(px, py, words(level)) for level, px, py in points]
    winner = result.winner is not None and candidate.id == result.winner.id
    if winner or candidate.id == result.campaign.reference:
        _, px, py = points[-1]
        near_edge = px > WIDTH * 0.6
        name = shorten(candidate.label, MOST_CHARACTERS)
        parts.append(text(px + (-8 if near_edge else 8), py - 8, name, "name", "end" if near_edge else "start"))
    return group(
        candidate, *parts, class_="series reference" if candidate.id == result.campaign.reference else "series"
    )


def words(level: Level) -> str:
    """What a point says of itself; whose it is, its group knows."""
    return (
        f"{level.workload} at {level.load}: {number(level.output_tokens_per_s)} tok/s, "
        f"TTFT {latency(level.ttft_p50_s)}, TPOT {latency(level.tpot_p50_s)}"
    )


PICTURE = Picture(
    name="throughput-latency",
    title="Throughput against latency",
    caption="Up and to the left is better. A line joins the load levels of one candidate, lowest load first.",
    order=1,
    draw=draw,
)
