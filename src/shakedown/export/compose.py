"""A Compose file: GPUs reserved, shared memory, limits, health check. Format: the Compose Specification."""

from __future__ import annotations

from shakedown.domain.result import CampaignResult
from shakedown.export.base import ExportFormat, Files, fill
from shakedown.export.container import in_container, shm_gib
from shakedown.export.secrets import Word
from shakedown.export.service import Service


def make(_: CampaignResult, service: Service) -> Files:
    """``compose.yaml``."""
    command = [_word(word) for word in in_container(service.argv)]
    env = {name: _literal(value) for name, value in service.env.items()}
    env |= {name: _required(name) for name in service.secrets}
    text = fill("compose.yaml.jinja", service=service, command=command, env=env, shm_gib=shm_gib(service))
    return {"compose.yaml": text}


def _word(word: Word) -> str:
    return _literal(word.text) + ("" if word.secret is None else _required(word.secret))


def _literal(text: str) -> str:
    """Compose replaces ``$NAME``; a doubled dollar stands for itself."""
    return text.replace("$", "$$")


def _required(name: str) -> str:
    return f"${{{name}:?set {name} in the environment or in .env}}"


EXPORT = ExportFormat(name="compose", summary="Docker Compose file", make=make)
