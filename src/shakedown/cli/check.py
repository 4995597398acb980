"""``shakedown check``: the gates of a campaign on any running OpenAI-compatible server."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from shakedown.domain.check import CheckReport, CheckResult
from shakedown.domain.errors import UserError
from shakedown.domain.result import SCHEMA
from shakedown.domain.words import CheckVerdict, GateLevel

EXIT_FAILED = 3


def command(  # noqa: PLR0917 - typer makes options of them
    base_url: Annotated[str, typer.Option(help="The server, without /v1: http://127.0.0.1:8000")],
    model: Annotated[
        str, typer.Option(help="Name the model is served under; default: the first the server lists.")
    ] = "",
    level: Annotated[
        GateLevel, typer.Option(help="How thorough: each level contains the one before.")
    ] = GateLevel.QUICK,
    reference: Annotated[Path | None, typer.Option(help="Compare with this reference file.")] = None,
    write_reference: Annotated[
        Path | None, typer.Option(help="Take this server as the reference; write its file.")
    ] = None,
    context_tokens: Annotated[int, typer.Option(min=1, help="Longest input that must work and stay accurate.")] = 1024,
    max_kl: Annotated[
        float | None, typer.Option(min=0.0, help="Limit of the mean KL divergence from the reference, nats.")
    ] = None,
    skip: Annotated[list[str] | None, typer.Option(help="A check not to ask, by name; may be repeated.")] = None,
    api_key: Annotated[str | None, typer.Option(envvar="OPENAI_API_KEY", help="Bearer token.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Check that a running server is correct: sane, stable under concurrency, true to its reference.

    Example: shakedown check --base-url http://127.0.0.1:8000 --level standard --write-reference good.json

    Then, on another server of the same model: shakedown check --base-url ... --level standard --reference good.json
    """
    from shakedown.checks.detect import find_server
    from shakedown.checks.registry import unknown_names
    from shakedown.checks.runner import run_checks
    from shakedown.domain.trial import Gates
    from shakedown.domain.workload import Target

    if reference is not None and write_reference is not None:
        raise UserError("--reference and --write-reference exclude each other: compare with a reference, or write one")
    if not base_url.startswith(("http://", "https://")):
        raise UserError(f"--base-url {base_url!r}: give the scheme too, as in http://127.0.0.1:8000")
    if max_kl is not None and max_kl <= 0:
        raise UserError(f"--max-kl {max_kl:g}: the limit must be above 0")
    for name, near in unknown_names(skip or ()).items():
        hint = f"; did you mean {near!r}?" if near else ""
        raise UserError(f"--skip {name}: no check is called so{hint}")
    target, engine = find_server(
        Target(base_url=base_url.removesuffix("/").removesuffix("/v1"), model=model, api_key=api_key)
    )
    if not json:
        typer.echo(
            f"{target.base_url}: {target.model} on {engine.kind.value if engine else 'an unknown engine'}", err=True
        )
    file = reference or write_reference
    gates = Gates(
        level=level,
        max_kl=max_kl,
        write_reference=write_reference is not None,
        reference_file=None if file is None else str(file),
        context_tokens=context_tokens,
        skip=tuple(skip or ()),
    )
    report = run_checks(target, engine, gates, on_result=_show)
    if json:
        typer.echo(_document(report))
    else:
        typer.echo(f"verdict: {report.verdict.value}", err=True)
    if report.verdict is not CheckVerdict.PASS:
        raise typer.Exit(EXIT_FAILED)


def _show(result: CheckResult) -> None:
    typer.echo(f"{result.verdict.value:8}{result.name:24}{result.seconds:7.2f} s  {result.summary}", err=True)


def _document(report: CheckReport) -> str:
    body = report.model_dump(mode="json")
    return dumps({"schema": SCHEMA, "verdict": body["verdict"], "checks": body["checks"]}, indent=2)
