"""``shakedown verify``: does production still match its campaign?"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shakedown.domain.words import GateLevel

if TYPE_CHECKING:
    from shakedown.domain.verification import Verification

CANNOT_TELL = 3
DEVIATES = 4


def command(
    folder: Annotated[Path, typer.Argument(help="Results folder of the campaign, or its result.json.", metavar="DIR")],
    *,
    base_url: Annotated[str, typer.Option(help="The running server, with or without /v1.", show_default=False)],
    model: Annotated[str, typer.Option(help="Name of the model; the server's first one if left out.")] = "",
    candidate: Annotated[str | None, typer.Option(help="Label or id of what should run; default: the winner.")] = None,
    level: Annotated[GateLevel, typer.Option(help="How thorough the gates are.")] = GateLevel.QUICK,
    ignore: Annotated[list[str] | None, typer.Option(help="Effective setting that may differ; repeatable.")] = None,
    load: Annotated[bool, typer.Option(help="Measure the speed; --no-load sends single requests only.")] = True,
    repeats: Annotated[int | None, typer.Option(min=1, help="Times that each level is measured.")] = None,
    margin: Annotated[str | None, typer.Option(help="Equal within this, as in 5%; default: the campaign's.")] = None,
    api_key: Annotated[
        str | None, typer.Option(envvar="SHAKEDOWN_API_KEY", help="Sent as a bearer token.", show_default=False)
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print only what deviates: for cron, which mails output.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Hold a running server against its campaign: effective settings, gates, speed within the interval.

    Exit code 0: as proven; 3: nobody answers; 4: it deviates.

    Example: shakedown verify --base-url http://127.0.0.1:8000 result --quiet
    """
    from shakedown.campaign.verify import VerifyOptions, verify
    from shakedown.cli.bench_options import parse_percent
    from shakedown.client.address import parse_base_url
    from shakedown.client.control import ControlClient
    from shakedown.domain.errors import ClientError
    from shakedown.domain.workload import Target
    from shakedown.interchange.opened import open_result

    result = open_result(folder)
    target = Target(base_url=parse_base_url(base_url).url, model=model, api_key=api_key)
    options = VerifyOptions(
        candidate=candidate,
        level=level,
        ignore=tuple(ignore or ()),
        load=load,
        repeats=repeats,
        margin=None if margin is None else parse_percent("--margin", margin),
    )
    with ControlClient(target.base_url, api_key=api_key) as control:
        if control.status("/v1/models") is None:
            sys.stderr.write(f"{base_url}: nobody answers; is the server running, and is this its address?\n")
            raise typer.Exit(CANNOT_TELL)
    try:
        found = verify(target, result, folder, options, tell=_teller(quiet=quiet))
    except ClientError as error:
        sys.stderr.write(f"{base_url}: {error}\n")
        raise typer.Exit(CANNOT_TELL) from error
    if as_json:
        sys.stdout.write(found.model_dump_json(indent=2) + "\n")
    else:
        _print(found, quiet=quiet)
    if found.deviations:
        raise typer.Exit(DEVIATES)


def _teller(*, quiet: bool) -> Callable[[str], None]:
    def tell(line: str) -> None:
        if not quiet:
            typer.echo(line, err=True)

    return tell


def _print(found: Verification, *, quiet: bool) -> None:
    if not found.deviations:
        if not quiet:
            typer.echo(f"{found.base_url} is what {found.campaign} proved: {found.candidate}")
        return
    typer.echo(f"{found.base_url} deviates from {found.candidate} of {found.campaign} ({found.folder}):")
    for deviation in found.deviations:
        typer.echo(f"  {deviation}")
