"""A shell script that starts the winner in the foreground."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from shakedown.domain.result import CampaignResult
from shakedown.export.base import ExportFormat, Files, fill
from shakedown.export.secrets import Word
from shakedown.export.service import Service


def make(_: CampaignResult, service: Service) -> Files:
    """``start-NAME.sh``."""
    env = {name: shlex.quote(value) for name, value in service.env.items()}
    written = [*service.env.values(), *(word.text for word in service.argv)]
    values = {
        "service": service,
        "env": env,
        "lines": lines(service.argv),
        "literal_signs": any("$" in text or "`" in text for text in written),
    }
    return {f"start-{service.name}.sh": fill("command.sh.jinja", **values)}


def lines(argv: Sequence[Word]) -> list[str]:
    """The command broken before each option, every word quoted for POSIX shells."""
    broken: list[list[str]] = [[]]
    for word in argv:
        if word.text.startswith("-") and broken[-1]:
            broken.append([])
        broken[-1].append(_shell(word))
    return [" ".join(words) for words in broken]


def _shell(word: Word) -> str:
    text = shlex.quote(word.text) if word.text or word.secret is None else ""
    return text if word.secret is None else f'{text}"${{{word.secret}}}"'


EXPORT = ExportFormat(name="command", summary="shell script that starts the winner in the foreground", make=make)
