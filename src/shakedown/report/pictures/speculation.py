"""Speculation: tokens gained per verification step against how many it takes to pay for the step.

Both come from the judge (``shakedown.judge.speculation``): the accept length from the server's counters, the break-even
from the measured time of a verification step over that of a plain one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from shakedown.domain.metric import PointSummary
from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.domain.units import change, number
from shakedown.judge.speculation import break_even, observe
from shakedown.report.pictures.draw import RIGHT, Panel, Picture, group, line, shorten, svg, tag, text
from shakedown.report.pictures.scale import Scale
from shakedown.report.tables import levels

ROW, HEAD, FOOT, NAMES, WIDE = 24.0, 22.0, 44.0, 390.0, 1140.0
MOST_ROWS = 24


@dataclass(frozen=True, slots=True)
class Gain:
    """What speculation did at one load level of one candidate; None where there is nothing to compare with."""

    candidate: CandidateResult
    at: str
    accept_length: float
    break_even: float | None
    """Accept length at which a verification step would only just pay for itself."""
    speed_up: float | None
    """Throughput over the same candidate without speculation."""


def gains(result: CampaignResult) -> list[Gain]:
    """Every load level at which drafts were seen."""
    return [gain for candidate in result.candidates for gain in _gains(candidate, result)]


def _gains(candidate: CandidateResult, result: CampaignResult) -> Iterator[Gain]:
    if not _speculates(candidate):
        return
    plain = _without(candidate, result)
    for level in levels(candidate.points):
        mine = [point for point in candidate.points if _at(point) == level.place]
        theirs = [point for point in plain.points if _at(point) == level.place] if plain else []
        seen = observe(mine)
        if seen is None or not seen.drafting:
            continue
        base = next((other.output_tokens_per_s for other in levels(theirs)), None)
        speed_up = level.output_tokens_per_s / base if level.output_tokens_per_s and base else None
        even = break_even(mine, theirs) if theirs else None
        yield Gain(candidate, f"{level.workload} at {level.load}", seen.accept_length, even, speed_up)


def _at(point: PointSummary) -> tuple[str, int | None, float | None]:
    return (point.workload, point.concurrency, point.request_rate)


def _speculates(candidate: CandidateResult) -> bool:
    return any(point.accept_length is not None for point in candidate.points)


def _without(candidate: CandidateResult, result: CampaignResult) -> CandidateResult | None:
    """The candidate that differs from this one in a single dimension and did not speculate."""
    for other in result.candidates:
        names = candidate.settings.keys() | other.settings.keys()
        different = [name for name in names if candidate.settings.get(name) != other.settings.get(name)]
        if len(different) == 1 and other.points and not _speculates(other):
            return other
    return None


def draw(result: CampaignResult) -> list[Panel]:
    """One panel with a row for each candidate, workload and load; nothing where no candidate speculated."""
    rows = gains(result)[:MOST_ROWS]
    if not rows:
        return []
    height = HEAD + ROW * len(rows) + FOOT
    values = [gain.accept_length for gain in rows] + [gain.break_even for gain in rows if gain.break_even]
    x = Scale(min(1.0, *values) if values else 1.0, max(values) * 1.05, NAMES, WIDE - RIGHT - 6)
    marks = [_row(gain, x, HEAD + ROW * (index + 0.5)) for index, gain in enumerate(rows)]
    bottom = height - FOOT
    axis = []
    for value in x.ticks(4):
        axis += [line(x(value), HEAD - 6, x(value), bottom), text(x(value), bottom + 16, f"{value:g}", anchor="middle")]
    axis.append(text(WIDE - RIGHT, height - 6, "tokens per verification step", "axis-title", "end"))
    label = "Accept length and break-even by candidate, workload and load."
    drawing = svg(label, tag("g", *axis, aria_hidden="true"), *marks, height=height, width=WIDE)
    return [Panel("accept length by kind of text", drawing, broad=True)]


def _row(gain: Gain, x: Scale, y: float) -> Markup:
    words = f"{gain.at}: {number(gain.accept_length)} tokens a step"
    parts = [text(NAMES - 10, y + 4, shorten(f"{gain.candidate.label} · {gain.at}", 56), "row-name", "end")]
    if gain.break_even is not None:
        words += f", break-even {number(gain.break_even)}"
        paid = "gain" if gain.accept_length >= gain.break_even else "loss"
        parts.append(line(x(gain.break_even), y, x(gain.accept_length), y, paid))
        parts.append(line(x(gain.break_even), y - 7, x(gain.break_even), y + 7, "even"))
    if gain.speed_up is not None:
        words += f": {change(gain.speed_up)} than without"
    return group(gain.candidate, tag("title", words), *parts, tag("circle", cx=x(gain.accept_length), cy=y, r=4))


PICTURE = Picture(
    name="speculation",
    title="Speculation",
    caption="Dot: accept length, bonus token included, from the server's counters. Upright tick: the accept length at "
    "which a step would only just pay for itself. Dot to the right of the tick: speculation gained.",
    order=4,
    draw=draw,
)
