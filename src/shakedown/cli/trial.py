"""``shakedown trial``: one trial, JSON in on standard input, events out on standard output."""

from __future__ import annotations

import os
import sys

import typer
from pydantic import ValidationError

from shakedown.campaign.interrupt import stop_signals
from shakedown.campaign.trial import run_trial
from shakedown.domain.errors import UserError
from shakedown.domain.events import EVENT, Event
from shakedown.domain.trial import TrialRequest
from shakedown.launch.lifeline import die_with_parent

INTERRUPTED = 130


def command() -> None:
    """Run one trial: read a trial request as JSON, write its events as JSON lines, leave no process behind.

    Example: shakedown trial < request.json > events.jsonl
    """
    die_with_parent()
    try:
        request = TrialRequest.model_validate_json(sys.stdin.buffer.read())
    except ValidationError as error:
        raise UserError(f"standard input: not a trial request: {error}") from error
    with stop_signals() as interrupt:
        run_trial(request, emit=_write, should_stop=lambda: interrupt.requested)
    if interrupt.requested:
        raise typer.Exit(INTERRUPTED)


def _write(event: Event) -> None:
    # One write a line: a reader never sees half an event, whoever dies when.
    os.write(sys.stdout.fileno(), EVENT.dump_json(event) + b"\n")
