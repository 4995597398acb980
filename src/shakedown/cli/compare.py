"""``shakedown compare``: two results, before and after a change."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from shakedown.domain.words import Objective

NOTHING_COMMON = 3
REGRESSION = 4


def command(  # noqa: PLR0917 - typer makes options of them
    before: Annotated[
        Path, typer.Argument(metavar="A", help="Before: a results folder, a result.json, or files of a load generator.")
    ],
    after: Annotated[Path, typer.Argument(metavar="B", help="After, likewise.")],
    candidate: Annotated[str | None, typer.Option(help="Label or id of the one candidate to compare.")] = None,
    objective: Annotated[Objective | None, typer.Option(help="Figure to compare; default: the campaign's.")] = None,
    margin: Annotated[str | None, typer.Option(help="Equal within this, as in 2%; default: the results' own.")] = None,
    other_machine: Annotated[
        bool, typer.Option("--other-machine", help="Compare across machines all the same.")
    ] = False,
    other_model: Annotated[bool, typer.Option("--other-model", help="Compare across models all the same.")] = False,
    format_: Annotated[
        str | None, typer.Option("--format", help="md or json; without it, tables in the terminal.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write; without it, standard output.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Say what got better, what got worse and what stopped working between two results.

    Either may be a campaign, a bench result, a folder of bench results (each one launch), a saved result.json, or a
    file of vLLM bench serve, SGLang bench_serving, AIPerf or GuideLLM.

    Exit code 0: nothing got worse; 2: not comparable; 3: no load level in common; 4: a regression.

    Example: shakedown compare main-result branch-result --format md --out comment.md
    """
    from shakedown.cli.bench_options import parse_percent
    from shakedown.cli.output import console, write_or_print
    from shakedown.domain.errors import UserError
    from shakedown.interchange.opened import open_result
    from shakedown.interchange.percentiles import with_ttft_p99
    from shakedown.judge.compare import CompareOptions, compare
    from shakedown.report.comparison import render, to_markdown

    form = "json" if as_json else format_ or (out.suffix.removeprefix(".") if out else None)
    if form not in {None, "md", "json"}:
        raise UserError(f"--format {form}: unknown; md or json")
    options = CompareOptions(
        objective=objective,
        margin=None if margin is None else parse_percent("--margin", margin),
        candidate=candidate,
        other_machine=other_machine,
        other_model=other_model,
    )
    a, b = open_result(before), open_result(after)
    result = with_ttft_p99(compare(a, b, options), a, b, candidate)
    if form is None:
        render(result, console())
    else:
        text = to_markdown(result) if form == "md" else result.model_dump_json(indent=2) + "\n"
        write_or_print(text, out)
        if sys.stderr.isatty() or out is not None:
            render(result, console(stderr=True))
    if result.regressions:
        raise typer.Exit(REGRESSION)
    if result.status is None:
        raise typer.Exit(NOTHING_COMMON)
