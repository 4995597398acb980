"""``shakedown trial``: one trial, JSON in on standard input, events out on standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer
from pydantic import ValidationError

from shakedown.campaign.interrupt import stop_signals
from shakedown.campaign.trial import run_trial
from shakedown.domain.errors import UserError
from shakedown.domain.events import EVENT, Event
from shakedown.domain.trial import TrialRequest
from shakedown.launch.lifeline import die_with_parent
from shakedown.launch.secrets import hide_in_json, secret_values

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
    candidate = request.candidate
    secrets = secret_values(os.environ, candidate.env, candidate.args)
    with stop_signals() as interrupt:
        run_trial(request, emit=lambda event: _write(event, secrets), interrupt=interrupt)
    if interrupt.requested:
        raise typer.Exit(INTERRUPTED)


def _write(event: Event, secrets: Sequence[str]) -> None:
    """Write one line, with nothing secret in it that a log line may have brought along."""
    # One write a line: a reader never sees half an event, whoever dies when.
    os.write(sys.stdout.fileno(), hide_in_json(EVENT.dump_json(event).decode(), secrets).encode() + b"\n")
