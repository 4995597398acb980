"""Flags out of an engine's ``--help``: llama.cpp's own layout, and argparse's (SGLang, vLLM, TensorRT-LLM)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from shakedown.domain.facts import FlagFacts

_SPELLING = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
_LLAMA_COLUMN = 40
"""Column at which llama.cpp's descriptions begin (common/arg.cpp, ``common_arg::to_string``)."""
_LLAMA_SWITCH_WORDS = {
    "on": ("enabled", "true", "1"),
    "off": ("disabled", "false", "0"),
    "auto": ("-1",),
}
"""Further words that llama.cpp takes for on, off and auto (common/arg.cpp, ``is_truthy`` and its siblings)."""
_DEFAULT = re.compile(r"\(default: ([^)]*)\)")


def parse_llama_help(text: str) -> dict[str, FlagFacts]:
    """Read ``llama-server --help``; flags by their first long spelling."""
    return _by_name(_llama_flag(header, description) for header, description in _llama_entries(text))


def parse_argparse_help(text: str) -> dict[str, FlagFacts]:
    """Read the help of a Python ``argparse`` parser; flags by their first long spelling."""
    return _by_name(_argparse_flag(header, description) for header, description in _argparse_entries(text))


def _by_name(flags: Iterable[FlagFacts]) -> dict[str, FlagFacts]:
    return {flag.name: flag for flag in flags}


def _llama_entries(text: str) -> Iterator[tuple[str, str]]:
    header: str | None = None
    description: list[str] = []
    for line in text.splitlines():
        if line.startswith("-") and not line.startswith("---"):
            if header is not None:
                yield header, " ".join(description)
            fits = len(line) > _LLAMA_COLUMN and line[_LLAMA_COLUMN - 1] == " "
            header = line[:_LLAMA_COLUMN] if fits else line
            description = [line[_LLAMA_COLUMN:].strip()] if fits else []
        elif header is not None and line.startswith(" "):
            description.append(line.strip())
    if header is not None:
        yield header, " ".join(description)


def _llama_flag(header: str, description: str) -> FlagFacts:
    spellings = tuple(_SPELLING.findall(re.split(r"[{\[<]", header)[0]))
    value = header[header.rfind(spellings[-1]) + len(spellings[-1]) :].strip()
    listed = re.fullmatch(r"[a-z][\w.-]*(,[a-z][\w.-]*)+", value)
    choices = _llama_choices(value, description)
    default = _DEFAULT.search(description)
    return FlagFacts(
        name=_name(spellings),
        spellings=spellings,
        choices=choices,
        default=default.group(1).strip("'\"") if default else None,
        takes_value=bool(value),
        repeats=bool(listed),
        help=description,
    )


def _llama_choices(value: str, description: str) -> tuple[str, ...] | None:
    allowed = re.search(r"allowed values: ((?:[\w.-]+, )*[\w.-]+)", description)
    if allowed:
        return tuple(allowed.group(1).split(", "))
    if re.fullmatch(r"[a-z][\w.-]*(,[a-z][\w.-]*)+", value):
        return tuple(value.split(","))
    if value.startswith("{") and value.endswith("}"):
        return tuple(value[1:-1].split(","))
    if re.fullmatch(r"\[on\|off(\|auto)?\]", value):
        words = value[1:-1].split("|")
        return tuple(spelling for word in words for spelling in (word, *_LLAMA_SWITCH_WORDS[word]))
    return None


def _argparse_entries(text: str) -> Iterator[tuple[str, str]]:
    header: str | None = None
    description: list[str] = []
    for line in text.splitlines():
        if re.match(r" {2}-", line):
            if header is not None:
                yield header, " ".join(description)
            header, _, rest = re.sub(r"(?<=\S) {2,}", "\0", line.strip(), count=1).partition("\0")
            description = [rest] if rest else []
        elif header is not None and line.startswith("      "):
            description.append(line.strip())
        elif header is not None and line.strip():
            yield header, " ".join(description)
            header = None
    if header is not None:
        yield header, " ".join(description)


def _argparse_flag(header: str, description: str) -> FlagFacts:
    # "{a,b} or name registered in …": the list is not all there is.
    header, _, open_ended = header.partition(" or ")
    choices = None if open_ended else re.search(r"\{([^}]*)\}", header)
    bare = re.sub(r"\{[^}]*\}", "VALUE", header)
    spellings = tuple(_SPELLING.findall(bare))
    default = _DEFAULT.search(description)
    return FlagFacts(
        name=_name(spellings),
        spellings=spellings,
        choices=tuple(choices.group(1).split(",")) if choices else None,
        default=_default_value(default.group(1)) if default else None,
        takes_value=bool(re.search(r"[A-Z\[]", _SPELLING.sub("", bare))),
        repeats="..." in header,
        help=description,
    )


def _default_value(text: str) -> str | None:
    return None if text == "None" else text


def _name(spellings: tuple[str, ...]) -> str:
    long = [spelling for spelling in spellings if spelling.startswith("--")]
    return (long or list(spellings))[0].lstrip("-")
