"""What ``bench`` shows: progress and table for people on standard error, JSON on standard output, files in a folder."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.live import Live
from rich.table import Table
from rich.text import Text

from shakedown.cli.bench_curve import write_curve
from shakedown.cli.output import console

if TYPE_CHECKING:
    from shakedown.domain.metric import Distribution, PointSummary
    from shakedown.domain.workload import PointPlan
    from shakedown.load.bench import BenchResult, ServerInfo
    from shakedown.load.generator import PointResult, Progress
    from shakedown.load.search import SearchResult

COLUMNS = ("C", "Agg tok/s", "Per-req tok/s", "Tokens", "Wall(s)", "Ok", "TTFT ms", "TPOT ms", "ITL ms")


class BenchView:
    """Renders a bench as it runs.

    Args:
        json_output: standard output is for the JSON document; the table goes to standard error.
        out: folder for ``result.json`` and one Parquet file for each point; made if missing.
    """

    def __init__(self, *, json_output: bool, out: Path | None) -> None:
        self._json_output = json_output
        self._out = out
        self._console = console(stderr=json_output)
        self._points: list[PointSummary] = []
        self._status = Text("asking the server what it is")
        self._live = Live(
            self._status, console=console(stderr=True), transient=True, refresh_per_second=4, auto_refresh=True
        )

    def __enter__(self) -> Self:
        if self._out is not None:
            self._out.mkdir(parents=True, exist_ok=True)
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._live.stop()

    def server(self, server: ServerInfo) -> None:
        """The server has said what it is."""
        engine = server.engine or "unknown engine"
        counted = {"server": "the server's tokenizer", "file": "the tokenizer file", "estimate": "an estimate"}
        self._live.console.print(
            f"{server.base_url}  {server.model}  ({engine}); prompt lengths by {counted[server.input_lengths]}"
        )

    def point_start(self, plan: PointPlan) -> None:
        """A point begins; warm-up first."""
        self._status = Text(f"{_load(plan.level.concurrency, plan.level.request_rate)}: warming up")
        self._live.update(self._status)

    def progress(self, progress: Progress) -> None:
        """A point is running."""
        rate = "" if progress.output_tokens_per_s is None else f", {progress.output_tokens_per_s:,.0f} tok/s"
        of = "" if progress.requests is None else f"/{progress.requests}"
        failed = f", {progress.failed} failed" if progress.failed else ""
        self._live.update(
            Text(f"{progress.done}{of} done, {progress.running} running{failed}{rate}, {progress.elapsed_s:.0f} s")
        )

    def point(self, result: PointResult) -> None:
        """A point is measured: keep its records."""
        self._points.append(result.summary)
        if self._out is not None:
            from shakedown.load.records import records_name, write_parquet

            point = result.summary
            name = records_name(point.workload, point.concurrency, point.request_rate, point.repeat)
            write_parquet(result.records, self._out / name)

    def finish(self, result: BenchResult) -> None:
        """Print the table, the findings and where asked the JSON; write the files."""
        self._console.print(sweep_table(self._points))
        if result.knee is not None:
            self._console.print(f"Beyond {result.knee} more load buys latency rather than throughput.")
        if result.search is not None:
            self._console.print(search_sentence(result.search))
        for finding in result.findings:
            self._console.print(f"{finding.kind}: {finding.summary} {finding.advice}", style="yellow", highlight=False)
        document = result.model_dump_json(indent=2)
        if self._out is not None:
            (self._out / "result.json").write_text(document + "\n", encoding="utf-8")
            write_curve(self._points, self._out)
        if self._json_output:
            sys.stdout.write(document + "\n")


def search_sentence(search: SearchResult) -> str:
    """Say what a search found."""
    unit = "concurrency" if search.kind == "concurrency" else "requests/s"
    if search.highest is None:
        lowest = "nothing" if search.lowest_broken is None else f"{search.lowest_broken:g}"
        return f"No load keeps the objectives; the lowest tried was {unit} {lowest}."
    broken = "the limit of the search" if search.lowest_broken is None else f"{search.lowest_broken:g} breaks them"
    sure = "" if search.certain else "; by estimate only, more requests would settle it"
    return f"The highest load that keeps the objectives: {unit} {search.highest:g} ({broken}{sure})."


def sweep_table(points: list[PointSummary]) -> Table:
    """The table of a load sweep, with the columns that people already compare, latencies as p50/p99 beside them."""
    table = Table(*COLUMNS, box=None, header_style="bold")
    for column in table.columns:
        column.justify = "right"
        column.no_wrap = True
    for point in points:
        table.add_row(
            _load_cell(point),
            _number(point.output_tokens_per_s),
            _number(point.per_request_tokens_per_s),
            f"{point.output_tokens}",
            f"{point.duration_s:.1f}",
            f"{point.ok}/{point.requests}",
            _milliseconds(point.ttft_s),
            _milliseconds(point.tpot_s),
            _milliseconds(point.itl_s),
        )
    return table


def _load_cell(point: PointSummary) -> str:
    return str(point.concurrency) if point.concurrency is not None else f"{point.request_rate or 0:g}/s"


def _load(concurrency: int | None, request_rate: float | None) -> str:
    return f"concurrency {concurrency}" if concurrency is not None else f"{request_rate or 0:g} requests/s"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _milliseconds(values: Distribution | None) -> str:
    if values is None:
        return "-"
    return f"{values.p50 * 1000:.1f}/" + ("-" if values.p99 is None else f"{values.p99 * 1000:.1f}")
