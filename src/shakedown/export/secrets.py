"""Keeps secrets out of exported files: what looks like one becomes the name of an environment variable."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shakedown.launch.secrets import hide_argv, hide_env

_HIDDEN = "***"
_TOKEN = re.compile(r"\b(?:hf_|sk-|ghp_|github_pat_|glpat-|xox[bp]-|AKIA)[A-Za-z0-9_-]{12,}|\bBearer\s+\S+")
"""Values that are secrets whatever they are called: tokens of hubs, clouds and gateways."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command: ``text``, then the value of the variable ``secret`` where there is one."""

    text: str
    secret: str | None = None


def hide_words(argv: Sequence[str]) -> tuple[tuple[Word, ...], tuple[str, ...]]:
    """Return the command with secrets replaced, and the variables that stand for them."""
    words: list[Word] = []
    names: list[str] = []
    flag = "SECRET"
    for word, masked in zip(argv, hide_argv(argv), strict=True):
        if masked != word or _HIDDEN in word or _TOKEN.search(word):
            prefix = word.partition("=")[0] + "=" if word.startswith("-") and "=" in word else ""
            name = variable_name(prefix.rstrip("=") or flag)
            words.append(Word(prefix, name))
            names.append(name)
        else:
            words.append(Word(word))
        if word.startswith("-"):
            flag = word.partition("=")[0]
    return tuple(words), tuple(dict.fromkeys(names))


def hide_environment(env: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the harmless variables with their values, and the names of those that hold a secret."""
    masked = hide_env(env)
    secret = {name for name, value in env.items() if masked[name] != value or _HIDDEN in value or _TOKEN.search(value)}
    return {name: value for name, value in env.items() if name not in secret}, tuple(n for n in env if n in secret)


def variable_name(flag: str) -> str:
    """``--api-key`` to ``API_KEY``."""
    return re.sub(r"\W+", "_", flag.strip("-")).upper() or "SECRET"
