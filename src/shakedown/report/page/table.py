"""Rows of the page's table of candidates: what is shown, and what it is sorted by."""

from __future__ import annotations

import json
from dataclasses import dataclass

from markupsafe import Markup

from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.domain.units import MISSING, duration, latency, number, ratio
from shakedown.domain.words import Standing, Verdict
from shakedown.report import sentences
from shakedown.report.pictures.draw import line, role, tag
from shakedown.report.pictures.scale import Scale
from shakedown.report.tables import Level, levels, mean_kl, ranked

FOREST_WIDTH, FOREST_HEIGHT = 132.0, 18.0
VERDICT_ORDER = [*(standing.value for standing in Standing), *(verdict.value for verdict in Verdict)]


@dataclass(frozen=True, slots=True)
class Head:
    """A column's title, and which way round a first click sorts it."""

    title: str
    first: str = "ascending"
    number: bool = False


HEADS = (
    Head("Candidate"),
    Head("Verdict"),
    Head("Ratio", "descending"),
    Head("tok/s", "descending", number=True),
    Head("TTFT p50", number=True),
    Head("TPOT p50", number=True),
    Head("KL", number=True),
    Head("Boot", number=True),
    Head("Launches", number=True),
)

Figure = tuple[str, float | str]
"""What a cell shows, and the number it sorts by; an empty string where nothing was measured."""


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate. ``levels_json`` holds its figures for every load that the page can be switched to."""

    id: str
    label: str
    note: str
    verdict: str
    verdict_words: str
    verdict_order: int
    role: str
    objective: str
    objective_sort: float | str
    forest: Markup
    figures: list[Figure]
    levels_json: str
    kl: str
    kl_sort: float | str
    boot: str
    boot_sort: float | str
    launches: int
    why: str
    winner: bool


LoadKey = tuple[str, str]
"""A workload and a load as written."""


def load_keys(result: CampaignResult) -> list[LoadKey]:
    """Every workload and load that any candidate was measured at."""
    found = levels(point for candidate in result.candidates for point in candidate.points)
    return [(level.workload, level.load) for level in found]


def first_shown(result: CampaignResult, keys: list[LoadKey]) -> int:
    """The load shown at first: the highest of the campaign's first workload."""
    if not keys:
        return 0
    declared = [str(workload.get("name")) for workload in result.campaign.workloads]
    first = next((name for name in declared if any(name == workload for workload, _ in keys)), keys[0][0])
    return max(index for index, (workload, _) in enumerate(keys) if workload == first)


def rows(result: CampaignResult, keys: list[LoadKey], shown: int) -> list[Row]:
    """A row for each candidate, the best first."""
    scale = _forest_scale(result)
    return [_row(candidate, result, keys, shown, scale) for candidate in ranked(result)]


def _row(candidate: CandidateResult, result: CampaignResult, keys: list[LoadKey], shown: int, scale: Scale) -> Row:
    found = {(level.workload, level.load): level for level in levels(candidate.points)}
    figures = [_figures(found.get(key)) for key in keys]
    words = verdict_words(candidate)
    kl = mean_kl(candidate)
    return Row(
        id=candidate.id,
        label=candidate.label or candidate.id,
        note=_note(candidate, result),
        verdict=candidate.verdict.value,
        verdict_words=words.replace("_", " "),
        verdict_order=VERDICT_ORDER.index(words),
        role=role(candidate),
        objective=ratio(candidate.objective, candidate.objective_interval),
        objective_sort=sortable(candidate.objective),
        forest=_forest(candidate, result, scale),
        figures=figures[shown] if figures else _figures(None),
        levels_json=json.dumps(figures, separators=(",", ":")),
        kl=number(kl, 2),
        kl_sort=sortable(kl),
        boot=duration(candidate.boot_s),
        boot_sort=sortable(candidate.boot_s),
        launches=candidate.launches,
        why=sentences.why(candidate, result),
        winner=result.winner is not None and candidate.id == result.winner.id,
    )


def verdict_words(candidate: CandidateResult) -> str:
    """The standing of a qualified candidate, the verdict of any other."""
    return candidate.standing.status.value if candidate.standing else candidate.verdict.value


def sortable(value: float | None) -> float | str:
    """The number a cell sorts by, or an empty string."""
    return "" if value is None else float(f"{value:.6g}")


def _figures(level: Level | None) -> list[Figure]:
    if level is None:
        return [(MISSING, "")] * 3
    rate = number(level.output_tokens_per_s)
    if level.spread is not None:
        rate += f"\n{number(level.spread[0])} to {number(level.spread[1])}"
    return [
        (rate, sortable(level.output_tokens_per_s)),
        (latency(level.ttft_p50_s), sortable(level.ttft_p50_s)),
        (latency(level.tpot_p50_s), sortable(level.tpot_p50_s)),
    ]


def _note(candidate: CandidateResult, result: CampaignResult) -> str:
    notes = ["the reference"] if candidate.id == result.campaign.reference else []
    origin = next((c.label for c in result.candidates if c.id == candidate.derived_from), None)
    notes += [f"made from {origin} by its remedy"] if origin else []
    notes += ["lossy"] if candidate.lossy else []
    return ", ".join(notes)


def _forest_scale(result: CampaignResult) -> Scale:
    """One scale for all rows, so that intervals can be compared down the column."""
    values = [1.0]
    for candidate in result.candidates:
        if candidate.objective is not None:
            values += [candidate.objective, *(candidate.objective_interval or ())]
    low, high = min(values), max(values)
    room = max((high - low) * 0.05, 0.02)
    return Scale(low - room, high + room, 0, FOREST_WIDTH)


def _forest(candidate: CandidateResult, result: CampaignResult, x: Scale) -> Markup:
    """The ratio with its interval as a picture, the margin round 1 shaded; the numbers stand beside it."""
    if candidate.objective is None:
        return Markup("")
    margin = result.campaign.decision.margin
    middle = FOREST_HEIGHT / 2
    left, right = max(x(1 - margin), 0.0), min(x(1 + margin), FOREST_WIDTH)
    parts = [
        tag("rect", x=left, y=0, width=max(right - left, 0.0), height=FOREST_HEIGHT, class_="band"),
        line(x(1.0), 0, x(1.0), FOREST_HEIGHT, "one"),
    ]
    if candidate.objective_interval is not None:
        low, high = candidate.objective_interval
        parts.append(line(x(low), middle, x(high), middle, "whisker"))
    parts.append(line(x(candidate.objective), middle - 6, x(candidate.objective), middle + 6, "point"))
    view = f"0 0 {FOREST_WIDTH:g} {FOREST_HEIGHT:g}"
    return tag("svg", *parts, class_=f"forest {role(candidate)}", viewBox=view, aria_hidden="true")
