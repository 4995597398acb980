"""Speculation: tokens gained per verification step against how many it takes to pay for the step.

Break-even: with accept length tau and speed-up S over the same candidate without speculation, a speculative step costs
tau / S plain steps. Speculation pays where tau is above that (Leviathan et al., arXiv 2211.17192, with measured costs).
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.domain.units import change, number
from shakedown.report.pictures.draw import RIGHT, Panel, Picture, group, line, shorten, svg, tag, text
from shakedown.report.pictures.scale import Scale
from shakedown.report.tables import Level, levels

ROW, HEAD, FOOT, NAMES, WIDE = 24.0, 22.0, 44.0, 390.0, 1140.0
MOST_ROWS = 24


@dataclass(frozen=True, slots=True)
class Gain:
    """What speculation did at one load level of one candidate."""

    candidate: CandidateResult
    level: Level
    accept_length: float
    speed_up: float | None
    """Throughput over the same candidate without speculation; None where there is none to compare with."""

    @property
    def break_even(self) -> float | None:
        """Accept length at which this step cost would neither gain nor lose."""
        return None if not self.speed_up else self.accept_length / self.speed_up


def gains(result: CampaignResult) -> list[Gain]:
    """Every load level at which the server's counters showed drafts."""
    found = []
    for candidate in result.candidates:
        if all(point.accept_length is None for point in candidate.points):
            continue
        plain = _without(candidate, result)
        rates = {level.key: level.output_tokens_per_s for level in levels(plain.points)} if plain else {}
        for level in levels(candidate.points):
            if level.accept_length is None:
                continue
            rate, base = level.output_tokens_per_s, rates.get(level.key)
            speed_up = rate / base if rate and base else None
            found.append(Gain(candidate, level, level.accept_length, speed_up))
    return found


def _without(candidate: CandidateResult, result: CampaignResult) -> CandidateResult | None:
    """The candidate that differs from this one in a single dimension and did not speculate."""
    for other in result.candidates:
        names = candidate.settings.keys() | other.settings.keys()
        different = [name for name in names if candidate.settings.get(name) != other.settings.get(name)]
        speculates = any(point.accept_length is not None for point in other.points)
        if len(different) == 1 and other.points and not speculates:
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
    return [Panel("accept length by kind of text", drawing)]


def _row(gain: Gain, x: Scale, y: float) -> Markup:
    at = f"{gain.level.workload} at {gain.level.load}"
    words = f"{at}: {number(gain.accept_length)} tokens a step"
    parts = [text(NAMES - 10, y + 4, shorten(f"{gain.candidate.label} · {at}", 56), "row-name", "end")]
    if gain.break_even is not None and gain.speed_up is not None:
        words += f", break-even {number(gain.break_even)}: {change(gain.speed_up)} than without"
        paid = "gain" if gain.speed_up >= 1 else "loss"
        parts.append(line(x(gain.break_even), y, x(gain.accept_length), y, paid))
        parts.append(line(x(gain.break_even), y - 7, x(gain.break_even), y + 7, "even"))
    return group(gain.candidate, tag("title", words), *parts, tag("circle", cx=x(gain.accept_length), cy=y, r=4))


PICTURE = Picture(
    name="speculation",
    title="Speculation",
    caption="Dot: accept length, bonus token included, from the server's counters. Upright tick: the accept length at "
    "which a step would only just pay for itself. Dot to the right of the tick: speculation gained.",
    order=4,
    draw=draw,
)
