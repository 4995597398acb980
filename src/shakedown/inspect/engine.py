"""What an engine installation is: it is asked for its version and flags, not imitated."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence

from shakedown.domain.candidate import EngineRef
from shakedown.domain.errors import EngineNotFoundError
from shakedown.domain.facts import EngineFacts
from shakedown.domain.words import EngineKind
from shakedown.inspect.help_text import parse_llama_help

LLAMA_SERVER_MODULE = "shakedown.launch.llama_server"
"""Starts the llama.cpp server of the ``xllamacpp`` wheel with llama-server's own flags."""
ASK_TIMEOUT_S = 300.0
"""Importing torch from a cold disk takes minutes."""


def inspect_engine(reference: EngineRef) -> EngineFacts:
    """Ask an installed engine for its version and flags.

    Raises:
        EngineNotFoundError: if it is not installed where ``reference`` says.
    """
    if reference.kind is EngineKind.LLAMA_CPP:
        return _inspect_llama(reference)
    raise EngineNotFoundError(f"{reference.kind}: cannot be asked")


def _inspect_llama(reference: EngineRef) -> EngineFacts:
    command = reference.command or (reference.python or "python3", "-m", LLAMA_SERVER_MODULE)
    version = run_text([*command, "--version"])
    match = re.search(r"version: (\S+)(?: \((?:build )?(\w+)(?:, commit (\w+))?)?", version)
    packages = {}
    if reference.python is not None:
        packages["xllamacpp"] = run_text(
            [reference.python, "-c", "import importlib.metadata as m; print(m.version('xllamacpp'))"]
        ).strip()
    return EngineFacts(
        kind=reference.kind,
        version=match.group(1) if match else None,
        flags=parse_llama_help(run_text([*command, "--help"])) or None,
        python=reference.python,
        command=reference.command,
        packages=packages,
    )


def run_text(command: Sequence[str], *, timeout_s: float = ASK_TIMEOUT_S) -> str:
    """Run a command to its end and return its output, error output included.

    Raises:
        EngineNotFoundError: if it cannot be started, fails or does not end.
    """
    shown = " ".join(command)
    try:
        done = subprocess.run(
            list(command), capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False
        )
    except OSError as error:
        raise EngineNotFoundError(f"{command[0]}: cannot be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise EngineNotFoundError(f"no answer within {timeout_s:.0f} s from: {shown}") from error
    if done.returncode != 0:
        last = next((line for line in reversed((done.stdout + done.stderr).splitlines()) if line.strip()), "no output")
        raise EngineNotFoundError(f"exit code {done.returncode} from: {shown}: {last.strip()}")
    return done.stdout + done.stderr
