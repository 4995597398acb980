"""The campaign as a screen one leaves open for a night: what runs now, how far it is, what is decided so far."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from shakedown.domain.progress import CandidateJudged
from shakedown.domain.units import duration, printable, tokens_per_second
from shakedown.domain.words import CheckVerdict, Stage, Verdict
from shakedown.live.lines import gates_words, point_words
from shakedown.live.state import CampaignState, RunningTrial

STAGES = {
    Stage.PLAN: "planning",
    Stage.LAUNCH: "launching",
    Stage.BOOT: "booting",
    Stage.CHECK: "checking its answers",
    Stage.LOAD: "under load",
    Stage.SHUTDOWN: "shutting down",
}
COLOURS = {Verdict.QUALIFIED: "green", Verdict.INACCURATE: "yellow", Verdict.PRUNED: "dim", Verdict.NOT_RUN: "dim"}
FAILED = "red"
RESERVED_LINES = 14
"""Lines of the screen that the head and the running trial need; the rest shows candidates."""
LINES_PER_HOST = 5
"""What the trial of each further host takes."""


def screen(state: CampaignState, now: float, height: int) -> RenderableType:
    """Draw ``state`` at ``now`` (seconds of the epoch) for a terminal of ``height`` lines."""
    if state.started is None:
        return Text("planning …", "dim")
    parts: list[RenderableType] = [_head(state, now), _bar(state), Text()]
    for trial in state.trials.values():
        parts += [*_trial(trial, now), Text()]
    if state.judged:
        reserved = RESERVED_LINES + LINES_PER_HOST * max(len(state.trials) - 1, 0)
        parts.append(_judged(list(state.judged.values()), max(height - reserved, 3)))
    return Group(*parts)


def _head(state: CampaignState, now: float) -> Text:
    assert state.started is not None
    text = Text(printable(state.started.name), "bold")
    text.append(f"  {state.finished} of {state.candidates} candidates", "not bold")
    if state.started.pruned:
        text.append(f" · {state.started.pruned} pruned", "not bold")
    text.append(f" · {duration(max(now - state.started.at, 0.0))} so far", "not bold")
    if state.ends_at is not None:
        left = state.ends_at - now
        text.append(f" · about {duration(left)} left" if left > 0 else " · longer than expected", "not bold")
    text.append(f"\n{printable(state.started.folder)}", "dim not bold")
    return text


def _bar(state: CampaignState) -> ProgressBar:
    return ProgressBar(total=max(state.candidates, 1), completed=state.finished, width=60)


def _trial(trial: RunningTrial, now: float) -> list[RenderableType]:
    head = Text("▸ ", "cyan")
    head.append(printable(trial.label), "bold")
    head.append(
        f"{f'  on {printable(trial.host)}' if trial.host is not None else ''}"
        f"  launch {trial.index} of {trial.of} · {STAGES[trial.stage]} for {duration(max(now - trial.since, 0.0))}"
    )
    lines: list[RenderableType] = [head]
    if trial.phases or trial.boot_s is not None:
        steps = [f"{name} {duration(elapsed)}" for name, elapsed in trial.phases]
        if trial.boot_s is not None:
            steps.append(f"ready {duration(trial.boot_s)}")
        lines.append(_labelled("boot", " → ".join(steps)))
    if trial.checks:
        lines.append(_checks(trial))
    if trial.point is not None:
        lines.append(_point(trial))
    elif trial.points:
        lines.append(_labelled("load", point_words(trial.points[-1])))
    return lines


def _checks(trial: RunningTrial) -> Text:
    """Counted, the failed ones by name, and the latest while they run."""
    text = _labelled("gates", gates_words(trial).removeprefix("gates: "))
    failed = [check.name for check in trial.checks if check.verdict is CheckVerdict.FAIL]
    if failed:
        text.append(f" · {printable(', '.join(failed))}", "not dim red")
    if trial.stage is Stage.CHECK:
        text.append(f" · last {printable(trial.checks[-1].name)}", "dim")
    return text


def _point(trial: RunningTrial) -> Table:
    point = trial.point
    assert point is not None
    row = Table.grid(padding=(0, 2, 0, 0))
    rate = tokens_per_second(point.output_tokens_per_s)
    repeat = f", repeat {point.repeat + 1}" if point.repeat else ""
    row.add_row(
        Text("  load", "dim"),
        Text(f"{printable(point.workload)} at {point.load}{repeat}"),
        ProgressBar(total=max(point.requests, 1), completed=point.done, width=20),
        Text(f"{point.done}/{point.requests}"),
        Text(rate, "bold"),
        Text(f"{point.running} running", "dim"),
    )
    return row


def _labelled(label: str, words: str) -> Text:
    text = Text(f"  {label:<5}  ", "dim")
    text.append(printable(words), "not dim")
    return text


def _judged(judged: list[CandidateJudged], room: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    shown = judged[-room:]
    longest = max(len(candidate.label) for candidate in shown)
    table.add_column("Candidate", overflow="ellipsis", no_wrap=True, min_width=min(longest, 36))
    table.add_column("Verdict", no_wrap=True)
    table.add_column("Load", justify="right", no_wrap=True)
    table.add_column("Why", overflow="ellipsis", no_wrap=True, ratio=1)
    for candidate in shown:
        table.add_row(
            Text(printable(candidate.label)),
            Text(candidate.verdict.value.replace("_", " "), COLOURS.get(candidate.verdict, FAILED)),
            Text(candidate.headline or ""),
            Text(printable(candidate.reason), "dim"),
        )
    if len(judged) > room:
        table.caption = f"and {len(judged) - room} before these"
    return table
