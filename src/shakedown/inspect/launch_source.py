"""Where a launch line is written down: on the command line itself, in a systemd unit, in a compose file."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import yaml

from shakedown.domain.errors import UserError
from shakedown.plan.launch_line import LaunchLine, parse_launch_line


def read_launch_line(source: str) -> LaunchLine:
    """Read a launch line, or the file that holds one.

    Raises:
        UserError: if the file holds none, or the line starts no engine that Shakedown drives.
    """
    path = Path(source)
    if "\n" in source or not path.suffix or " " in source.strip() or not path.exists():
        return parse_launch_line(source)
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix in (".yml", ".yaml"):
        return _compose(text, path)
    if path.suffix == ".service":
        return _unit(text, path)
    return parse_launch_line(_without_comments(text))


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


def _unit(text: str, path: Path) -> LaunchLine:
    """Read ``ExecStart`` and ``Environment`` of a systemd unit."""
    start: str | None = None
    env: dict[str, str] = {}
    for line in text.replace("\\\n", " ").splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and key == "ExecStart":
            start = value.strip().lstrip("@-:+!")
        elif equals and key == "Environment":
            for assignment in shlex.split(value):
                name, _, content = assignment.partition("=")
                env[name] = content
    if start is None:
        raise UserError(f"{path}: no ExecStart in this unit")
    return parse_launch_line(start, env)


def _compose(text: str, path: Path) -> LaunchLine:
    """Read the first service of a compose file whose command starts an engine."""
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not YAML: {error}") from error
    services = content.get("services") if isinstance(content, Mapping) else None
    failure: UserError | None = None
    for service in services.values() if isinstance(services, Mapping) else ():
        words = [*_words(service.get("entrypoint")), *_words(service.get("command"))]
        image = str(service.get("image", ""))
        try:
            return parse_launch_line(shlex.join([image, *words] if "vllm-openai" in image else words), _env(service))
        except UserError as error:
            failure = error
    raise UserError(f"{path}: no service in this compose file starts an engine that Shakedown drives") from failure


def _words(value: object) -> list[str]:
    if isinstance(value, str):
        return shlex.split(value)
    return [str(word) for word in value] if isinstance(value, list) else []


def _env(service: Mapping[str, object]) -> dict[str, str]:
    given = service.get("environment")
    if isinstance(given, Mapping):
        return {str(name): str(value) for name, value in given.items()}
    if isinstance(given, list):
        return dict(str(entry).partition("=")[::2] for entry in given)
    return {}
