"""Shared by the probes; runs in the engine's interpreter, which need not be the one Shakedown runs in."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

PLAIN = (bool, int, float, str)
Resolve = Callable[[list[str]], Mapping[str, Any]]
"""Makes the engine's own argument object of a command line, and gives its resolved values."""


def packages(names: Sequence[str]) -> dict[str, str]:
    """Versions of those distributions that are installed."""
    found = {}
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def library_files(names: Sequence[str]) -> list[str]:
    """Shared libraries of distributions, for a look at the GPU code inside them."""
    found: list[str] = []
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found += [str(file.locate()) for file in metadata.files(name) or () if file.suffix == ".so"]
    return found


def flags_of(parser: argparse.ArgumentParser) -> list[dict[str, Any]]:
    """Every flag of an argparse parser, hidden ones included."""
    flags = []
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list of its actions
        if not action.option_strings or action.dest == "help":
            continue
        default = action.default
        flags.append(
            {
                "spellings": list(action.option_strings),
                "choices": [str(choice) for choice in action.choices] if action.choices else None,
                "default": default if isinstance(default, PLAIN) else None,
                "takes_value": action.nargs != 0,
                "repeats": action.nargs in ("+", "*") or isinstance(action, argparse._AppendAction),  # noqa: SLF001
                "help": action.help if isinstance(action.help, str) and action.help != argparse.SUPPRESS else "",
            }
        )
    return flags


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values that JSON can carry, by argument name."""
    kept: dict[str, Any] = {}
    for name, value in values.items():
        if value is None or isinstance(value, PLAIN):
            kept[name.replace("_", "-")] = value
        elif isinstance(value, list | tuple) and all(isinstance(item, PLAIN) for item in value):
            kept[name.replace("_", "-")] = list(value)
    return kept


def judge(resolve: Resolve, words: list[str], env: Mapping[str, str]) -> dict[str, Any]:
    """Ask for one candidate: what ``resolve(words)`` gives, or the engine's own words when it refuses."""
    before = dict(os.environ)
    os.environ.update(env)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return {"accepted": True, "resolved": plain(resolve(words))}
    except SystemExit:
        # argparse has printed its usage and then the reason.
        last = [line for line in said.getvalue().splitlines() if line.strip()]
        return {"accepted": False, "message": last[-1].strip() if last else "the argument parser gave up"}
    except Exception as error:  # whatever the engine raises is its answer
        text = " ".join(str(error).split())
        return {"accepted": False, "message": f"{type(error).__name__}: {text}" if text else type(error).__name__}
    finally:
        os.environ.clear()
        os.environ.update(before)


def run(flags: list[dict[str, Any]], resolve: Resolve, about: Mapping[str, Any]) -> None:
    """Answer a question file: flags always, candidates where there are any."""
    question = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    answer = {**about, "flags": flags}
    answer["answers"] = {
        name: judge(resolve, candidate["words"], candidate["env"]) for name, candidate in question["candidates"].items()
    }
    Path(sys.argv[2]).write_text(json.dumps(answer), encoding="utf-8")
