"""Opens a campaign file and everything it names: all problems at once, before anything starts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from shakedown.domain.errors import CampaignFileError, Problem, UserError
from shakedown.domain.spec import PROMPT_FILES, CampaignSpec
from shakedown.domain.spec_file import CampaignText
from shakedown.domain.toml_lines import Path as KeyPath
from shakedown.domain.words import PlaceKind

DEMO_PREFIX = "demo:"
"""A model path that begins so is the file that the demo brings along."""


@dataclass(frozen=True, slots=True)
class LoadedCampaign:
    """A valid campaign: its spec with paths made absolute, and the file's text as it was given."""

    spec: CampaignSpec
    text: str
    file: Path


def load_campaign(file: Path, *, elsewhere: bool = False) -> LoadedCampaign:
    """Read and validate a campaign file; relative paths in it are relative to the file.

    Args:
        file: the campaign file.
        elsewhere: it is for another machine: the programs it names need not be here.

    Raises:
        UserError: if the file cannot be read.
        CampaignFileError: with every problem of its content and of the files it names.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UserError(f"{file}: cannot read the campaign file: {reason}") from error
    read = CampaignText(text, str(file))
    folder = file.resolve().parent
    problems = read.problems
    for path, message in _missing_files(read, folder, elsewhere=elsewhere):
        problems.append(read.problem(path, message))
    problems += _unknown_checks(read)
    problems.sort(key=lambda problem: problem.line or 0)
    if read.spec is None or problems:
        raise CampaignFileError(problems)
    return LoadedCampaign(spec=_with_absolute_paths(read.spec, folder), text=text, file=file)


def resolve(value: str, folder: Path) -> Path:
    """Make a path of the campaign file absolute; ``~`` is the user's home."""
    return (folder / Path(value).expanduser()).absolute()


def _missing_files(read: CampaignText, folder: Path, *, elsewhere: bool) -> Iterable[tuple[KeyPath, str]]:
    afar = read.value("place", "kind") not in (None, PlaceKind.LOCAL.value)
    model = read.value("model", "path")
    if isinstance(model, str) and model and not model.startswith(DEMO_PREFIX):
        problem = _not_absolute(model) if afar else _unreadable(resolve(model, folder))
        if problem:
            yield ("model", "path"), f"{problem}: {model if afar else resolve(model, folder)}"
    machine = read.value("machine", "file")
    if isinstance(machine, str):
        problem = _unreadable(resolve(machine, folder))
        if problem:
            yield ("machine", "file"), f"{problem}: {resolve(machine, folder)}"
    yield from _missing_prompts(read, folder)
    if not elsewhere and not afar:
        yield from _missing_programs(read, folder)


def _unknown_checks(read: CampaignText) -> list[Problem]:
    asked = read.value("gates", "skip")
    names = [name for name in asked if isinstance(name, str)] if isinstance(asked, list) else []
    if not names:
        return []
    # Checks bring an HTTP client and numpy: a third of a second that a file without this key need not pay.
    from shakedown.checks.registry import unknown_names

    return [
        read.problem(("gates", "skip", names.index(name)), f"no check is called {name!r}", near)
        for name, near in unknown_names(names).items()
    ]


def _missing_prompts(read: CampaignText, folder: Path) -> Iterable[tuple[KeyPath, str]]:
    workloads = read.value("workload")
    for index, _ in enumerate(workloads if isinstance(workloads, list) else []):
        prompts = read.value("workload", index, "prompts")
        for source in prompts if isinstance(prompts, list) else [prompts]:
            word, _, name = str(source).partition(":")
            if word in PROMPT_FILES and name:
                problem = _unreadable(resolve(name, folder))
                if problem:
                    yield ("workload", index, "prompts"), f"{problem}: {resolve(name, folder)}"


def _missing_programs(read: CampaignText, folder: Path) -> Iterable[tuple[KeyPath, str]]:
    python = read.value("engine", "python")
    if isinstance(python, str) and not _program(python, folder):
        yield ("engine", "python"), f"no such program: {python}"
    command = read.value("engine", "command")
    if isinstance(command, list) and command and isinstance(command[0], str) and not _program(command[0], folder):
        yield ("engine", "command"), f"no such program: {command[0]}"


def _program(name: str, folder: Path) -> str | None:
    if "/" not in name:
        return shutil.which(name)
    path = resolve(name, folder)
    return str(path) if os.access(path, os.X_OK) and path.is_file() else None


def _not_absolute(path: str) -> str | None:
    """A path on another machine can only be checked there, but it must mean the same wherever it is read."""
    return None if Path(path).is_absolute() else "must be an absolute path, as it is on the hosts of [place]"


def _unreadable(path: Path) -> str | None:
    if not path.exists():
        return "no such file or folder"
    return None if os.access(path, os.R_OK) else "cannot be read (permissions)"


def _with_absolute_paths(spec: CampaignSpec, folder: Path) -> CampaignSpec:
    model = spec.model
    if not model.path.startswith(DEMO_PREFIX):
        model = model.model_copy(update={"path": str(resolve(model.path, folder))})
    engine = spec.engine
    if engine.python and "/" in engine.python:
        engine = engine.model_copy(update={"python": str(resolve(engine.python, folder))})
    if engine.command and "/" in engine.command[0]:
        engine = engine.model_copy(update={"command": (str(resolve(engine.command[0], folder)), *engine.command[1:])})
    machine = spec.machine
    if machine.file:
        machine = machine.model_copy(update={"file": str(resolve(machine.file, folder))})
    place = spec.place
    if place.ssh_config:
        place = place.model_copy(update={"ssh_config": str(resolve(place.ssh_config, folder))})
    if place.folder:
        place = place.model_copy(update={"folder": str(resolve(place.folder, folder))})
    workloads = tuple(
        section.model_copy(update={"prompts": tuple(_absolute_source(source, folder) for source in section.prompts)})
        for section in spec.workload
    )
    return spec.model_copy(
        update={"model": model, "engine": engine, "machine": machine, "workload": workloads, "place": place}
    )


def _absolute_source(source: str, folder: Path) -> str:
    word, _, name = source.partition(":")
    return f"{word}:{resolve(name, folder)}" if word in PROMPT_FILES else source
