"""The report in the terminal: the verdict first, then the table, then why each other candidate lost."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from shakedown.domain.result import CampaignResult, CandidateResult, Finding
from shakedown.domain.units import MISSING, latency, number, printable, ratio
from shakedown.domain.words import Verdict
from shakedown.report import sentences
from shakedown.report.tables import SWEEP_HEADERS, Level, fastest, levels, mean_kl, ranked, sweep_rows, workloads

COLOURS = {
    Verdict.QUALIFIED: "green",
    Verdict.PRUNED: "dim",
    Verdict.NOT_RUN: "dim",
    Verdict.INACCURATE: "yellow",
}
FAILED = "red"
WIDE = 110
"""Columns of terminal from which latency and accuracy fit beside throughput."""


def render(result: CampaignResult, console: Console) -> None:
    """Print the whole report to ``console``. Text from logs and campaign files is shown as text, never as markup."""
    _verdict(result, console)
    _heading(console, "Candidates")
    console.print(candidates_table(result, wide=console.width >= WIDE))
    _losers(result, console)
    _findings(result.findings, console)
    _winner(result, console)
    console.print()
    _line(console, sentences.decision(result), "dim")
    folder = result.campaign.folder
    _line(console, f"Pictures and evidence: {folder}/report.html · again: shakedown report {folder}", "dim")


def candidates_table(result: CampaignResult, *, wide: bool = True) -> Table:
    """Every candidate: verdict, ratio to the reference, throughput by workload and load; latency where it fits."""
    gap = 2 if wide else 1
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, gap, 0, 0))
    table.add_column("Candidate", overflow="fold", min_width=16)
    table.add_column("Verdict", overflow="fold", min_width=10)
    table.add_column("Ratio to reference", justify="right", no_wrap=True)
    names = workloads(result)
    loads = {name: _loads(result, name) for name in names}
    most = MOST_LOADS if wide else 1
    for name in names:
        unit = f" tok/s\nat {_loads_header(loads[name], most)}" if wide else "\nbest tok/s"
        table.add_column(Text(f"{printable(name)}{unit}"), justify="right", overflow="fold")
    if wide:
        for header in ("TTFT p50", "TPOT p50"):
            table.add_column(Text(f"{header}\n{_latency_header(names, loads)}"), justify="right")
        table.add_column("KL", justify="right")
    for candidate in ranked(result):
        found = {(level.workload, level.load): level for level in levels(candidate.points)}
        row = [
            Text(printable(candidate.label) or candidate.id, "bold" if _is_winner(candidate, result) else ""),
            Text(_verdict_cell(candidate), COLOURS.get(candidate.verdict, FAILED)),
            Text(ratio(candidate.objective, candidate.objective_interval)),
            *(Text(_rates(found, name, loads[name], most)) for name in names),
        ]
        if wide:
            shown = found.get((names[0], loads[names[0]][-1])) if names and loads[names[0]] else None
            row += [
                Text(latency(shown.ttft_p50_s if shown else None)),
                Text(latency(shown.tpot_p50_s if shown else None)),
                Text(number(mean_kl(candidate), 2)),
            ]
        table.add_row(*row)
    return table


def sweep_table(candidate: CandidateResult, workload: str) -> Table:
    """The plain table of a load sweep of one candidate on one workload."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for header in SWEEP_HEADERS:
        table.add_column(header, justify="right")
    for row in sweep_rows(point for point in candidate.points if point.workload == workload):
        table.add_row(*row)
    return table


def _verdict(result: CampaignResult, console: Console) -> None:
    first, second = sentences.verdict(result)
    colour = "bold green" if result.winner else "bold yellow"
    console.print()
    _line(console, first, colour)
    _line(console, second)


def _losers(result: CampaignResult, console: Console) -> None:
    judged = [candidate for candidate in ranked(result) if candidate.verdict is not Verdict.NOT_RUN]
    others = [candidate for candidate in judged if not _is_winner(candidate, result)]
    if not others:
        return
    _heading(console, "Why the others lost" if result.winner else "What became of each")
    labels = {candidate.id: candidate.label for candidate in result.candidates}
    for candidate in others:
        text = Text(printable(candidate.label) or candidate.id, "bold")
        text.append(f"  {printable(sentences.why(candidate, result))}", "not bold")
        console.print(Padding(text, (0, 0, 0, 2)))
        for line in _evidence(candidate, labels):
            console.print(Padding(Text(printable(line), "dim"), (0, 0, 0, 6)))


def _evidence(candidate: CandidateResult, labels: dict[str, str]) -> list[str]:
    lines = []
    failure = candidate.failure
    if failure is not None and failure.root_line:
        place = f"line {failure.line_number}: " if failure.line_number else ""
        lines.append(f"{place}{failure.root_line.strip()}")
    if failure is not None and failure.remedy is not None:
        lines.append(f"remedy: {failure.remedy.advice}")
    if candidate.mended_by is not None:
        lines.append(f"mended by: {labels.get(candidate.mended_by, candidate.mended_by)}")
    return lines


def _findings(findings: tuple[Finding, ...], console: Console) -> None:
    if not findings:
        return
    _heading(console, "Findings")
    for finding in findings:
        text = Text(f"{finding.kind.value.replace('_', ' ')}: ", "bold")
        text.append(printable(finding.summary), "not bold")
        if finding.advice:
            text.append(f" {printable(finding.advice)}", "italic not bold")
        console.print(Padding(text, (0, 0, 0, 2)))


def _winner(result: CampaignResult, console: Console) -> None:
    if result.winner is None:
        return
    winner = next((c for c in result.candidates if c.id == result.winner.id), None)
    if winner is not None and winner.points:
        for workload in workloads(result):
            _heading(console, f"{winner.label}: {workload}")
            console.print(sweep_table(winner, workload))
    _heading(console, "Start it")
    # Unwrapped and without a box, so that it can be copied whole.
    console.print(Text(printable(result.winner.command)), soft_wrap=True)


def _verdict_cell(candidate: CandidateResult) -> str:
    if candidate.standing is not None:
        return candidate.standing.status.value
    return candidate.verdict.value.replace("_", " ")


def _is_winner(candidate: CandidateResult, result: CampaignResult) -> bool:
    return result.winner is not None and candidate.id == result.winner.id


def _loads(result: CampaignResult, workload: str) -> list[str]:
    """Loads of a workload, lowest first."""
    everything = levels(p for candidate in result.candidates for p in candidate.points if p.workload == workload)
    return [level.load for level in everything]


MOST_LOADS = 3
"""Above this many loads a cell would no longer be read; the best one is shown instead."""


def _loads_header(loads: list[str], most: int) -> str:
    if not loads:
        return MISSING
    return " / ".join(loads) if len(loads) <= most else "its best load"


def _rates(found: dict[tuple[str, str], Level], workload: str, loads: list[str], most: int) -> str:
    known = [found.get((workload, load)) for load in loads]
    if len(loads) <= most and any(known):
        return " / ".join(number(level.output_tokens_per_s if level else None) for level in known)
    best = fastest(level for (name, _), level in found.items() if name == workload)
    return number(None) if best is None else f"{number(best.output_tokens_per_s)} at {best.load}"


def _latency_header(names: list[str], loads: dict[str, list[str]]) -> str:
    if not names or not loads[names[0]]:
        return ""
    return f"{printable(names[0])} at {loads[names[0]][-1]}"


def _heading(console: Console, text: str) -> None:
    console.print()
    _line(console, text, "bold underline")


def _line(console: Console, text: str, style: str = "") -> None:
    console.print(Text(printable(text), style))
