"""What an engine installation is: it is asked for its version and flags, not imitated."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shakedown.domain.base import Value
from shakedown.domain.candidate import EngineRef
from shakedown.domain.errors import EngineNotFoundError
from shakedown.domain.facts import EngineFacts, FactNote, FlagFacts
from shakedown.domain.words import EngineKind
from shakedown.inspect import cache
from shakedown.inspect.ask import ask, can_be_asked
from shakedown.inspect.fatbin import kernel_archs
from shakedown.inspect.help_text import parse_argparse_help, parse_llama_help
from shakedown.inspect.resolve import package_of

LLAMA_SERVER_MODULE = "shakedown.launch.llama_server"
"""Starts the llama.cpp server of the ``xllamacpp`` wheel with llama-server's own flags."""
_TIMEOUT_S = 300.0
_HELP_TIMEOUT_S = 60.0
"""A wrapper that does not know ``--help`` may start a server instead, which never ends by itself."""
_VERSION_SCRIPT = """
import importlib.metadata as m, json, sys
d = m.distribution(sys.argv[1])
print(json.dumps([d.version, str(d.locate_file('')), [str(f.hash) for f in d.files or () if f.name == 'RECORD' or
    f.suffix == '.so']]))
"""


class _Answer(Value):
    """What a probe says of its engine."""

    version: str
    packages: dict[str, str]
    libraries: list[str]
    flags: list[dict[str, object]]
    answers: dict[str, object]


class NoAnswerError(EngineNotFoundError):
    """A command that can be started gave no answer: it failed, or did not end."""


_HELP = {EngineKind.VLLM: "--help=all"}


def inspect_engine(reference: EngineRef) -> EngineFacts:
    """Ask an installed engine for its version and flags.

    An interpreter is asked by running the engine's own parser in it; the answer is kept, by version and files. A
    command (a container, a wrapper) is asked for its help text.

    Raises:
        EngineNotFoundError: if it is not installed where ``reference`` says.
    """
    if reference.kind is EngineKind.LLAMA_CPP:
        return _inspect_llama(reference)
    if reference.command is not None:
        return _inspect_command(reference, reference.command)
    if can_be_asked(reference):
        return _inspect_python(reference)
    return _version_only(reference)


def _inspect_llama(reference: EngineRef) -> EngineFacts:
    command = reference.command or (reference.python or "python3", "-m", LLAMA_SERVER_MODULE)
    version = run_text([*command, "--version"])
    match = re.search(r"version: (\S+)", version)
    packages = {}
    if reference.command is None:
        packages["xllamacpp"] = _installed(reference, "xllamacpp")[0]
    return EngineFacts(
        kind=reference.kind,
        version=match.group(1) if match else None,
        flags=parse_llama_help(run_text([*command, "--help"])) or None,
        python=reference.python,
        command=reference.command,
        packages=packages,
    )


def _inspect_command(reference: EngineRef, command: Sequence[str]) -> EngineFacts:
    """A wrapper's help is the engine's; its version is not told that way. One without a help may serve all the same."""
    try:
        flags = parse_argparse_help(
            run_text([*command, _HELP.get(reference.kind, "--help")], timeout_s=_HELP_TIMEOUT_S)
        )
        note = FactNote(
            kind="asked_for_help_only", summary="asked through its command: flags from its help, no version"
        )
    except NoAnswerError as error:
        flags = {}
        note = FactNote(kind="not_asked", summary=f"its command tells no help, so flags are not checked: {error}")
    return EngineFacts(
        kind=reference.kind,
        version=None,
        flags=flags or None,
        flags_complete=False,
        command=tuple(command),
        notes=(note,),
    )


def _inspect_python(reference: EngineRef) -> EngineFacts:
    stamp = _installed(reference, package_of(reference.kind))
    key = cache.key_of(reference.kind, reference.python, stamp)
    answer = cache.load(key)
    if answer is None:
        answer = ask(reference, {})
        cache.keep(key, answer)
    told = _Answer.model_validate(answer)
    flags = [_flag(entry) for entry in told.flags]
    return EngineFacts(
        kind=reference.kind,
        version=told.version,
        flags={flag.name: flag for flag in flags},
        python=reference.python,
        packages=told.packages,
        kernel_archs=kernel_archs([Path(name) for name in told.libraries]) or None,
    )


def _version_only(reference: EngineRef) -> EngineFacts:
    note = FactNote(kind="not_asked", summary="asked for its version only: flags are not checked")
    version = _installed(reference, package_of(reference.kind))[0]
    return EngineFacts(kind=reference.kind, version=version, python=reference.python, flags=None, notes=(note,))


def _flag(entry: Mapping[str, object]) -> FlagFacts:
    flag = FlagFacts.model_validate({"name": "", **entry})
    first = next((spelling for spelling in flag.spellings if spelling.startswith("--")), flag.spellings[0])
    return flag.model_copy(update={"name": first.lstrip("-").replace("_", "-")})


def _installed(reference: EngineRef, package: str) -> tuple[str, str]:
    """Version of a distribution in an interpreter, and a digest of where and what it is."""
    assert reference.python is not None
    # The processor build of vLLM is a distribution of its own.
    names = [package, f"{package}-cpu"] if package == "vllm" else [package]
    failure: EngineNotFoundError | None = None
    for name in names:
        try:
            version, *rest = _json_of([reference.python, "-c", _VERSION_SCRIPT, name])
        except EngineNotFoundError as error:
            failure = error
        else:
            return str(version), cache.key_of(rest)
    raise EngineNotFoundError(
        f"{reference.kind}: no package '{package}' in {reference.python}; install it there, or name another "
        "interpreter with [engine] python"
    ) from failure


def _json_of(command: Sequence[str]) -> list[Any]:
    content = json.loads(run_text(command))
    return content if isinstance(content, list) else []


def run_text(command: Sequence[str], *, timeout_s: float = _TIMEOUT_S) -> str:
    """Run a command to its end and return its output, error output included.

    Raises:
        EngineNotFoundError: if it cannot be started.
        NoAnswerError: if it fails or does not end.
    """
    shown = " ".join(command)
    try:
        done = subprocess.run(
            list(command), capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False
        )
    except OSError as error:
        raise EngineNotFoundError(f"{command[0]}: cannot be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise NoAnswerError(f"no answer within {timeout_s:.0f} s from: {shown}") from error
    if done.returncode != 0:
        last = next((line for line in reversed((done.stdout + done.stderr).splitlines()) if line.strip()), "no output")
        raise NoAnswerError(f"exit code {done.returncode} from: {shown}: {last.strip()}")
    return done.stdout + done.stderr
