"""``shakedown up``: a launch line, mended until the server answers sense."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from shakedown.campaign.interrupt import stop_signals
from shakedown.campaign.up import Attempt, Launcher, Up
from shakedown.domain.candidate import Candidate, EngineRef, ModelRef
from shakedown.domain.events import Event, LaunchStarted, PhaseReached, ServerReady
from shakedown.domain.units import duration
from shakedown.engines.registry import engine_for
from shakedown.inspect.engine import inspect_engine
from shakedown.inspect.resolve import resolve_reference
from shakedown.launch.port import free_port
from shakedown.plan.launch_line import LaunchLine, parse_launch_line

NOT_UP = 3
INTERRUPTED = 130


def command(
    words: Annotated[list[str], typer.Argument(metavar="CMD...", help="The launch line, after --.")],
    out: Annotated[Path | None, typer.Option(help="Folder for the logs. Default: a new temporary one.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Start a launch line; diagnose, mend and retry until the quick check passes; leave the server running.

    Exit code 0: it is up; 3: nothing that is known helps.

    Example: shakedown up -- llama-server -m model.gguf --cache-type-v q8_0 --flash-attn off --port 8080
    """
    line = parse_launch_line(shlex.join(words))
    reference = resolve_reference(EngineRef(kind=line.kind, python=line.python, command=line.command))
    facts = inspect_engine(reference)
    folder = out or Path(tempfile.mkdtemp(prefix="shakedown-up-"))
    with stop_signals() as interrupt:
        launcher = Launcher(
            engine=engine_for(line.kind),
            folder=folder,
            host=_place(words, "host") or "127.0.0.1",
            port=int(_place(words, "port") or free_port("127.0.0.1")),
            emit=_tell,
            should_stop=lambda: interrupt.requested,
        )
        outcome = launcher.up(_candidate(line, reference), engine_version=facts.version)
        pid = outcome.server.release() if outcome.server is not None else None
    _print(outcome, pid, folder, as_json=as_json)
    if interrupt.requested:
        raise typer.Exit(INTERRUPTED)
    if pid is None:
        raise typer.Exit(NOT_UP)


def _candidate(line: LaunchLine, reference: EngineRef) -> Candidate:
    model = ModelRef(path=line.model, name=line.name or Path(line.model).name)
    args = engine_for(line.kind).canonical_args(line.args)
    return Candidate(engine=reference, model=model, args=args, env=line.env, label="as given")


def _place(words: list[str], flag: str) -> str | None:
    """Value of ``--host`` or ``--port`` in the launch line."""
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == f"--{flag}":
            return value if equals else next(iter(words[index + 1 :]), None)
    return None


def _tell(event: Event) -> None:
    match event:
        case LaunchStarted(argv=argv, log_file=log_file):
            typer.echo(f"starting: {shlex.join(argv)}\n  log: {log_file}", err=True)
        case PhaseReached(phase=phase, elapsed_s=elapsed_s):
            typer.echo(f"  {duration(elapsed_s)}: {phase}", err=True)
        case ServerReady(boot_s=boot_s):
            typer.echo(f"  ready after {duration(boot_s)}; checking that it answers sense", err=True)
        case _:
            pass


def _print(outcome: Up, pid: int | None, folder: Path, *, as_json: bool) -> None:
    if as_json:
        document = {
            "schema": "shakedown/1",
            "up": pid is not None,
            "base_url": outcome.base_url,
            "pid": pid,
            "folder": str(folder),
            "attempts": [attempt.model_dump(mode="json") for attempt in outcome.attempts],
            "refused": outcome.refused,
        }
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
        return
    for number, attempt in enumerate(outcome.attempts, 1):
        typer.echo(_story(number, attempt))
    if pid is not None:
        typer.echo(f"\nUp at {outcome.base_url}; stop it with: kill {pid}\n\n{outcome.attempts[-1].command}")
    elif outcome.refused:
        typer.echo(f"\nNot up: {outcome.refused}. Logs: {folder}")


def _story(number: int, attempt: Attempt) -> str:
    changed = f" with {', '.join(attempt.changes)}" if attempt.changes else " as given"
    if attempt.failure is None:
        return f"attempt {number}{changed}: answers sense"
    line = f"\n    {attempt.failure.root_line}" if attempt.failure.root_line else ""
    return f"attempt {number}{changed}: {attempt.failure.title}{line}"
