"""Asks an engine in its own interpreter: for its flags, and for what it makes of candidates' arguments."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path

from pydantic import TypeAdapter

from shakedown.domain.argv import argparse_words
from shakedown.domain.candidate import Candidate, EngineRef
from shakedown.domain.errors import EngineNotFoundError
from shakedown.domain.facts import EngineAnswer
from shakedown.domain.words import EngineKind
from shakedown.inspect import cache

TIMEOUT_S = 600.0
"""Importing torch and an engine from a cold disk takes minutes."""
_SCRIPTS = {EngineKind.SGLANG: "ask_sglang.py", EngineKind.VLLM: "ask_vllm.py"}
_ANSWERS = TypeAdapter(dict[str, EngineAnswer])
_PLAIN = ""
"""Name of the line without any argument but the model."""


def can_be_asked(reference: EngineRef) -> bool:
    """Whether there is an interpreter to ask in, and a script for the engine."""
    return reference.kind in _SCRIPTS and reference.python is not None


def ask_engine(reference: EngineRef, candidates: Sequence[Candidate]) -> dict[str, EngineAnswer]:
    """Let the engine's own argument object judge candidates; nothing is loaded, no GPU memory is taken.

    Returns:
        An answer by candidate id; empty where the engine cannot judge here (it refuses even the bare model, as most do
        on a machine without a GPU).

    Raises:
        EngineNotFoundError: if the engine cannot be imported in its interpreter.
    """
    if not can_be_asked(reference) or not candidates:
        return {}
    lines = {candidate.id: {"words": _words(candidate), "env": candidate.env} for candidate in candidates}
    bare = candidates[0].model_copy(update={"args": {}, "env": {}})
    lines[_PLAIN] = {"words": _words(bare), "env": {}}
    key = cache.key_of(reference.model_dump(mode="json"), lines, _stamp(Path(bare.model.path) / "config.json"))
    answer = cache.load(key)
    if answer is None:
        answer = ask(reference, lines)
        cache.keep(key, answer)
    answers = _ANSWERS.validate_python(answer.get("answers", {}))
    plain = answers.pop(_PLAIN, None)
    return answers if plain is not None and plain.accepted else {}


def ask(reference: EngineRef, lines: Mapping[str, object]) -> dict[str, object]:
    """Run the probe of an engine in its interpreter and return its answer.

    Raises:
        EngineNotFoundError: if the engine cannot be imported there; the last line it printed is in the message.
    """
    assert reference.python is not None
    probes = files("shakedown.inspect.probes")
    with as_file(probes) as folder, tempfile.TemporaryDirectory(prefix="shakedown-ask-") as place:
        question, answer = Path(place) / "question.json", Path(place) / "answer.json"
        question.write_text(json.dumps({"candidates": lines}), encoding="utf-8")
        script = folder / _SCRIPTS[reference.kind]
        printed = _run([reference.python, str(script), str(question), str(answer)], reference)
        if not answer.exists():
            last = next((line for line in reversed(printed.splitlines()) if line.strip()), "it printed nothing")
            raise EngineNotFoundError(
                f"{reference.kind}: {reference.python} cannot import it: {last.strip()}; "
                "install it there, or name another interpreter with [engine] python"
            )
        content = json.loads(answer.read_text(encoding="utf-8"))
    return content if isinstance(content, dict) else {}


def _run(command: list[str], reference: EngineRef) -> str:
    # Offline: a probe must not reach out to a hub because a path looks like a name.
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    # The engine's interpreter must not see Shakedown's own packages.
    env.pop("PYTHONPATH", None)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False, env=env
        )
    except OSError as error:
        raise EngineNotFoundError(f"{reference.python}: cannot be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise EngineNotFoundError(
            f"{reference.kind}: no answer from {reference.python} in {TIMEOUT_S:.0f} s"
        ) from error
    return done.stdout + done.stderr


def _words(candidate: Candidate) -> list[str]:
    """The candidate's arguments as the engine's own parser takes them."""
    path = candidate.model.path
    model = [path] if candidate.engine.kind is EngineKind.VLLM else ["--model-path", path]
    return model + [word for name, value in candidate.args.items() for word in argparse_words(name, value)]


def _stamp(path: Path) -> list[int]:
    try:
        status = path.stat()
    except OSError:
        return []
    return [status.st_size, status.st_mtime_ns]
