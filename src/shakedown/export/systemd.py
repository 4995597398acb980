"""A systemd unit with its environment file. Quoting: systemd.syntax(7), systemd.service(5) 'Command lines'."""

from __future__ import annotations

import re

from shakedown.domain.result import CampaignResult
from shakedown.export.base import ExportFormat, Files, fill
from shakedown.export.secrets import Word
from shakedown.export.service import Service

_ESCAPES = {chr(code): f"\\x{code:02x}" for code in (*range(1, 32), 127)} | {"\\": "\\\\", '"': '\\"'}
"""Inside double quotes; control characters as C writes them."""


def make(_: CampaignResult, service: Service) -> Files:
    """``NAME.service`` and ``NAME.env``."""
    program = service.argv[0].text
    # systemd looks a bare name up in its own path only; env(1) uses the PATH of the environment file.
    start = [] if program.startswith("/") else ["/usr/bin/env"]
    words = [*start, *(quote_word(word) for word in service.argv)]
    env = {name: quote_variable(value) for name, value in service.env.items()}
    return {
        f"{service.name}.service": fill(
            "systemd.service.jinja", service=service, command=" \\\n  ".join(_by_option(words))
        ),
        f"{service.name}.env": fill("systemd.env.jinja", service=service, env=env),
    }


def _by_option(words: list[str]) -> list[str]:
    lines: list[str] = []
    for word in words:
        if lines and not word.lstrip('"').startswith("-"):
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def quote_word(word: Word) -> str:
    """One word of ExecStart: percent signs and dollars doubled, quoted where it must be."""
    text = word.text.replace("%", "%%").replace("$", "$$")
    if word.secret is not None:
        return f"{text}${{{word.secret}}}"
    if re.fullmatch(r"[\w@%+=:,./$-]+", text, re.ASCII):
        return text
    return '"' + "".join(_ESCAPES.get(character, character) for character in text) + '"'


def quote_variable(value: str) -> str:
    """A value of an EnvironmentFile: in double quotes a backslash, quote, dollar and backtick are escaped."""
    return '"' + re.sub(r'([\\"$`])', r"\\\1", value) + '"'


EXPORT = ExportFormat(name="systemd", summary="systemd unit and environment file", make=make)
