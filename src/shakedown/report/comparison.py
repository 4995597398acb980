"""A comparison in words: for the terminal, and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shakedown.domain.comparison import ComparisonResult, LevelChange, Side
from shakedown.domain.units import MISSING, change, latency, number, printable, ratio
from shakedown.domain.words import ComparisonStatus, Objective
from shakedown.report import markdown
from shakedown.report.sentences import OBJECTIVES, percent, plural

HEADLINES = {
    ComparisonStatus.WORSE: "Regression: something got worse.",
    ComparisonStatus.EQUIVALENT: "No change: equal within the margin.",
    ComparisonStatus.BETTER: "Better, and nothing got worse.",
    ComparisonStatus.INCONCLUSIVE: "No regression proven, and equality is not proven either.",
    None: "Nothing to compare: the two results share no load level of a qualified candidate.",
}
_MARKS = {
    ComparisonStatus.WORSE: "**worse**",
    ComparisonStatus.BETTER: "better",
    ComparisonStatus.EQUIVALENT: "equivalent",
    ComparisonStatus.INCONCLUSIVE: "inconclusive",
}
_COLOURS = {ComparisonStatus.WORSE: "red", ComparisonStatus.BETTER: "green", ComparisonStatus.INCONCLUSIVE: "yellow"}
HEADERS = ("Candidate", "Load", "Before", "After", "Ratio", "Status", "TTFT p50", "TTFT p99 ratio", "TPOT p50")
_MOST_ROWS = 60
"""A pull request comment holds 65,536 characters; beyond so many rows only what changed is listed."""


def headline(result: ComparisonResult) -> str:
    """The outcome in one sentence."""
    wholes = [level for level in result.levels if level.workload is None]
    if len(wholes) == 1 and result.status in {ComparisonStatus.WORSE, ComparisonStatus.BETTER}:
        return f"{HEADLINES[result.status]} {change(wholes[0].ratio).capitalize()} over all load levels."
    return HEADLINES[result.status]


def decision(result: ComparisonResult) -> str:
    """How it was decided, in one sentence."""
    rule = result.decision
    launches = "is" if rule.launch_variance_measured else "is not"
    return (
        f"Ratios are after / before of {OBJECTIVES[Objective(rule.objective)]} (more is better), with "
        f"{percent(rule.confidence)} intervals; equivalent within {percent(rule.margin)}; worse and better are "
        f"adjusted for {plural(rule.comparisons, 'test')}; variance between launches {launches} in the intervals."
    )


def render(result: ComparisonResult, console: Console) -> None:
    """Print the comparison to a terminal."""
    colour = _COLOURS.get(result.status, "") if result.status else "yellow"
    console.print(Text(headline(result), f"bold {colour}".strip()))
    for name, side in (("before", result.a), ("after", result.b)):
        console.print(Text(printable(f"  {name}: {side_words(side)}")))
    for regression in result.regressions:
        console.print(Text(printable(f"  {regression}"), "red"))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for header in HEADERS:
        table.add_column(header, justify="left" if header in {"Candidate", "Load", "Status"} else "right")
    for level in result.levels:
        cells = [Text(printable(cell)) for cell in _row(level)]
        cells[5].stylize(_COLOURS.get(level.status, ""))
        table.add_row(*cells)
    if result.levels:
        console.print()
        console.print(table)
    for line in (*_changes(result), *result.notes, decision(result)):
        console.print(Text(printable(line), "dim"))


def to_markdown(result: ComparisonResult) -> str:
    """The comparison as a comment: headline, reasons, the changed levels, all levels folded away."""
    parts = [f"### {markdown.escape(headline(result))}"]
    parts.append(
        markdown.table(
            ("", "Measured", "Engine", "Model", "Machine"),
            [(name, *_side_cells(side)) for name, side in (("before", result.a), ("after", result.b))],
        )
    )
    if result.regressions:
        parts.append(markdown.bullets(list(result.regressions)))
    parts += [
        f"`{candidate.candidate}` fails now:\n\n{markdown.code(candidate.root_line)}"
        for candidate in result.candidates
        if candidate.root_line
    ]
    if result.levels:
        parts.append(_markdown_levels(result.levels))
    changes = _changes(result)
    if changes:
        parts += ["Effective settings that changed:", markdown.bullets(changes)]
    if result.notes:
        parts.append(markdown.bullets(list(result.notes)))
    parts.append(f"<sub>{markdown.escape(decision(result))}</sub>")
    return "\n\n".join(parts) + "\n"


def side_words(side: Side) -> str:
    """One side in one line."""
    return ", ".join(cell for cell in _side_cells(side) if cell != MISSING)


def _side_cells(side: Side) -> tuple[str, ...]:
    by = f" ({side.measured_by})" if side.measured_by else ""
    engine = " ".join(word for word in (side.engine, side.engine_version) if word)
    return (f"{side.name}{by}", engine or MISSING, side.model or MISSING, side.machine or MISSING)


def _row(level: LevelChange) -> tuple[str, ...]:
    return (
        level.candidate,
        _load(level),
        number(level.before),
        number(level.after),
        ratio(level.ratio, level.interval),
        level.status.value,
        _pair(level.ttft_p50_s),
        ratio(level.ttft_p99_ratio, level.ttft_p99_interval),
        _pair(level.tpot_p50_s),
    )


def _load(level: LevelChange) -> str:
    if level.workload is None:
        return "all"
    load = f"{level.concurrency}" if level.concurrency is not None else f"{number(level.request_rate)}/s"
    return f"{level.workload} at {load}"


def _pair(values: tuple[float | None, float | None]) -> str:
    before, after = values
    return MISSING if before is None and after is None else f"{latency(before)} → {latency(after)}"


def _markdown_levels(levels: Sequence[LevelChange]) -> str:
    shown = (
        levels
        if len(levels) <= _MOST_ROWS
        else [one for one in levels if one.status is not ComparisonStatus.EQUIVALENT]
    )
    rows = [[*_row(level)] for level in shown[:_MOST_ROWS]]
    whole = markdown.table(HEADERS, rows)
    for status, mark in _MARKS.items():
        whole = whole.replace(f"| {status.value} |", f"| {mark} |")
    left = len(levels) - len(rows)
    return whole + (f"\n\n{left} further levels are in the JSON document." if left else "")


def _changes(result: ComparisonResult) -> list[str]:
    """Changed settings, candidates with the same change together."""
    found: dict[str, list[str]] = {}
    for candidate in result.candidates:
        for setting in candidate.settings:
            words = f"{setting.key}: {_value(setting.before)} → {_value(setting.after)}"
            found.setdefault(words, []).append(candidate.candidate)
    return list(_grouped(found, len(result.candidates)))


def _grouped(found: dict[str, list[str]], everyone: int) -> Iterator[str]:
    for words, labels in found.items():
        yield words if len(labels) == everyone else f"{words} ({', '.join(labels)})"


def _value(value: object) -> str:
    return MISSING if value is None else str(value)
