"""A launch line taken apart: engine, interpreter or wrapper, model, arguments, environment."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from pydantic import Field

from shakedown.domain.base import ArgValue, Value
from shakedown.domain.errors import UserError
from shakedown.domain.words import EngineKind

_STARTS: Sequence[tuple[str, EngineKind]] = (
    (r"sglang\.launch_server|(^|/)sglang$", EngineKind.SGLANG),
    (r"vllm\.entrypoints|(^|/)vllm$", EngineKind.VLLM),
    (r"tensorrt_llm\.commands\.serve|(^|/)trtllm-serve$", EngineKind.TENSORRT_LLM),
    (r"(^|/)llama-server$|shakedown\.launch\.llama_server", EngineKind.LLAMA_CPP),
)
_MODEL_FLAGS = {"model-path", "model", "m"}
_PLACE_FLAGS = {"host", "port"}
_NAME_FLAGS = {"served-model-name", "alias", "a"}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SHELLS = {"env", "exec", "nohup", "sudo"}


class LaunchLine(Value):
    """What a person's launch line says."""

    kind: EngineKind
    python: str | None = None
    command: tuple[str, ...] | None = None
    """Everything before the arguments, where it is no plain interpreter."""
    model: str
    name: str | None = None
    args: dict[str, ArgValue] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)


def parse_launch_line(line: str, env: Mapping[str, str] | None = None) -> LaunchLine:
    """Take a shell line apart; line continuations and leading assignments are understood.

    Raises:
        UserError: if it is no shell line, starts no engine that Shakedown drives, or names no model.
    """
    try:
        words = shlex.split(line.replace("\\\n", " "))
    except ValueError as error:
        raise UserError(f"--from: not a shell line: {error}") from error
    given = dict(env or {})
    while words and (_ASSIGNMENT.match(words[0]) or words[0] in _SHELLS):
        word = words.pop(0)
        if _ASSIGNMENT.match(word):
            name, _, value = word.partition("=")
            given[name] = value
    start, kind = _find_engine(words)
    head, rest = words[: start + 1], words[start + 1 :]
    if rest[:1] == ["serve"]:
        head, rest = [*head, rest[0]], rest[1:]
    args, loose = _arguments(rest)
    named = [str(args.pop(flag)) for flag in sorted(_MODEL_FLAGS) if flag in args]
    if not named and not loose:
        raise UserError("--from: the launch line names no model")
    model = [*named, *loose][0]
    served = next((str(args[flag]) for flag in sorted(_NAME_FLAGS) if flag in args), None)
    kept = {key: value for key, value in args.items() if key not in _PLACE_FLAGS | _NAME_FLAGS | _MODEL_FLAGS}
    python = head[0] if len(head) >= 3 and head[1] == "-m" else None
    plain = kind is EngineKind.LLAMA_CPP and head == ["llama-server"]
    command = None if python or plain else tuple(head)
    return LaunchLine(kind=kind, python=python, command=command, model=model, name=served, args=kept, env=given)


def _find_engine(words: Sequence[str]) -> tuple[int, EngineKind]:
    for place, word in enumerate(words):
        for pattern, kind in _STARTS:
            if re.search(pattern, word):
                return place, kind
    for place, word in enumerate(words):
        # Images of the engines start the server themselves.
        if re.search(r"vllm/vllm-openai", word):
            return place, EngineKind.VLLM
        if re.search(r"ggml-org/llama\.cpp:server", word):
            return place, EngineKind.LLAMA_CPP
    raise UserError(
        "--from: no engine recognised in the launch line; it should hold sglang.launch_server, vllm serve, "
        "trtllm-serve or llama-server"
    )


def _arguments(words: Sequence[str]) -> tuple[dict[str, ArgValue], list[str]]:
    """Flags with their values, and the words that belong to none (before the first flag)."""
    args: dict[str, ArgValue] = {}
    loose: list[str] = []
    flag: str | None = None
    for word in words:
        if re.match(r"--?[A-Za-z]", word):
            flag, equals, value = word.lstrip("-").partition("=")
            flag = flag.replace("_", "-")
            args[flag] = _value(value) if equals else True
            flag = None if equals else flag
        elif flag is None:
            loose.append(word)
        else:
            args[flag] = _joined(args[flag], _value(word))
    return args, loose


def _joined(before: ArgValue, value: float | str) -> ArgValue:
    if before is True:
        return value
    return [*before, value] if isinstance(before, list) else [before, value]


def _value(text: str) -> int | float | str:
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?\d+\.\d+", text) else text
