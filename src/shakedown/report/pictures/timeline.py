"""Timeline of the campaign: each launch with its boot, what it came to, and the remedies that led to the next."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from shakedown.domain.result import CampaignResult, CandidateResult, TrialResult
from shakedown.domain.units import duration
from shakedown.report.pictures.draw import RIGHT, Panel, Picture, group, line, path, shorten, svg, tag, text
from shakedown.report.pictures.scale import Scale

HEAD, FOOT, NAMES, WIDE = 10.0, 40.0, 250.0, 1140.0
NAMED_ROWS = 48
"""Above this many launches rows get thin and lose their names; pointing at one still tells it."""


@dataclass(frozen=True, slots=True)
class _Row:
    middle: float
    height: float
    named: bool


def draw(result: CampaignResult) -> list[Panel]:
    """One panel, a row a launch, in order of start."""
    trials = sorted(result.trials, key=lambda trial: trial.started_at)
    if not trials:
        return []
    named = len(trials) <= NAMED_ROWS
    row, left = (20.0, NAMES) if named else (4.0, 12.0)
    start = min(trials[0].started_at, result.campaign.started_at or trials[0].started_at)
    end = max(trial.finished_at or trial.started_at for trial in trials)
    height = HEAD + row * len(trials) + FOOT
    x = Scale(0.0, max(end - start, 1.0), left, WIDE - RIGHT)
    candidates = {candidate.id: candidate for candidate in result.candidates}
    places = {
        trial.candidate: (trial, HEAD + row * (index + 0.5)) for index, trial in reversed(list(enumerate(trials)))
    }
    marks = []
    for index, trial in enumerate(trials):
        if trial.candidate in candidates:
            place = _Row(HEAD + row * (index + 0.5), row, named)
            marks.append(_launch(candidates[trial.candidate], trial, x, place, start))
    remedies = [
        path(_elbow(places[origin], places[candidate.id], x, start), "remedy")
        for candidate in result.candidates
        if (origin := candidate.derived_from) in places and candidate.id in places and origin is not None
    ]
    label = f"Timeline of {len(trials)} launches over {duration(end - start)}."
    drawing = svg(label, _axis(x, height), *remedies, *marks, height=height, width=WIDE)
    return [Panel("launches, failures and remedies", drawing, broad=True)]


def _axis(x: Scale, height: float) -> Markup:
    bottom = height - FOOT
    parts = []
    for value in x.ticks(8):
        parts += [line(x(value), HEAD, x(value), bottom), text(x(value), bottom + 16, _clock(value), anchor="middle")]
    return tag("g", *parts, aria_hidden="true")


def _clock(seconds: float) -> str:
    return "0" if seconds == 0 else duration(seconds)


def _launch(candidate: CandidateResult, trial: TrialResult, x: Scale, row: _Row, start: float) -> Markup:
    began = trial.started_at - start
    ended = (trial.finished_at or trial.started_at) - start
    verdict = "running" if trial.verdict is None else trial.verdict.value
    words = f"{verdict} after {duration(ended - began)}, boot {duration(trial.boot_s)}"
    bar = max(row.height * 0.6, 3.0)
    top = row.middle - bar / 2
    parts = [tag("title", words)]
    if row.named:
        parts.append(text(NAMES - 10, row.middle + 4, shorten(candidate.label, 40), "row-name", "end"))
    parts.append(tag("rect", x=x(began), y=top, width=max(x(ended) - x(began), 2.0), height=bar, class_="box"))
    if trial.boot_s:
        width = max(x(began + trial.boot_s) - x(began), 1.0)
        parts.append(tag("rect", x=x(began), y=top, width=width, height=bar, class_="boot"))
    return group(candidate, *parts)


def _elbow(
    origin: tuple[TrialResult, float], target: tuple[TrialResult, float], x: Scale, start: float
) -> list[tuple[float, float]]:
    from_x = x((origin[0].finished_at or origin[0].started_at) - start)
    to_x = x(target[0].started_at - start)
    return [(from_x, origin[1]), (from_x + 6, origin[1]), (from_x + 6, target[1]), (to_x, target[1])]


PICTURE = Picture(
    name="timeline",
    title="Timeline",
    caption="A bar is a launch, its dark beginning the boot. A thin line leads from a failure to the launch that its "
    "remedy made.",
    order=5,
    draw=draw,
)
