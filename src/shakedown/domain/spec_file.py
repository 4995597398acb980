"""Reads a campaign file's text: every problem at once, each with file, line, key and the nearest valid word."""

from __future__ import annotations

import re
import tomllib
import types
import typing
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from shakedown.domain.errors import CampaignFileError, Problem
from shakedown.domain.nearest import nearest
from shakedown.domain.spec import PROMPT_FILES, PROMPT_WORDS, CampaignSpec
from shakedown.domain.toml_lines import Path, key_lines, line_of


class CampaignText:
    """A campaign file's text, read as far as it can be: raw values, positions, and what is wrong with it.

    Attributes:
        raw: the values as TOML gives them; empty when the text is no TOML.
        spec: the validated campaign; None while ``problems`` is not empty.
        problems: everything that can be said without opening another file.
    """

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.raw: dict[str, object] = {}
        self.spec: CampaignSpec | None = None
        self.problems: list[Problem] = []
        self._lines: dict[Path, int] = {}
        try:
            self.raw = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            self.problems.append(_syntax_problem(error, file))
            return
        self._lines = key_lines(text)
        try:
            self.spec = CampaignSpec.model_validate(self.raw)
        except ValidationError as error:
            self.problems.extend(self._problem_of(details) for details in _relevant(error.errors()))
        self.problems.extend(self._same_name_twice())
        self.problems.sort(key=lambda problem: problem.line or 0)
        if self.problems:
            self.spec = None

    def problem(self, path: Path, message: str, suggestion: str | None = None) -> Problem:
        """Say that the value at ``path`` is wrong."""
        return Problem(self.file, line_of(self._lines, path), _spell(path), message, suggestion)

    def value(self, *path: str | int) -> object:
        """Raw value at ``path``, or None."""
        here: object = self.raw
        for step in path:
            if isinstance(here, dict) and isinstance(step, str):
                here = here.get(step)
            elif isinstance(here, list) and isinstance(step, int) and step < len(here):
                here = here[step]
            else:
                return None
        return here

    def _problem_of(self, details: ErrorDetails) -> Problem:
        path, valid = _walk(CampaignSpec, details["loc"])
        kind = details["type"]
        if kind == "extra_forbidden":
            return self.problem(path, "unknown key", _nearest(path[-1], valid))
        if kind == "missing":
            return self.problem(path, "is missing")
        given = details["input"]
        message = _message(details, path)
        shown = (
            "" if isinstance(given, dict | list | tuple | BaseModel) or repr(given) in message else f", not {given!r}"
        )
        return self.problem(path, f"{message}{shown}", _nearest(given, _words(details)))

    def _same_name_twice(self) -> Iterable[Problem]:
        for table in ("vary", "workload"):
            entries = self.value(table)
            seen: set[str] = set()
            for index, entry in enumerate(entries if isinstance(entries, list) else []):
                name = entry.get("name") if isinstance(entry, dict) else None
                if isinstance(name, str) and name in seen:
                    yield self.problem((table, index, "name"), f"{name!r} is already the name of another [[{table}]]")
                elif isinstance(name, str):
                    seen.add(name)


def parse_campaign(text: str, file: str) -> CampaignSpec:
    """Validate a campaign file's text.

    Raises:
        CampaignFileError: with every problem found.
    """
    read = CampaignText(text, file)
    if read.spec is None:
        raise CampaignFileError(read.problems)
    return read.spec


def _syntax_problem(error: tomllib.TOMLDecodeError, file: str) -> Problem:
    place = re.search(r" \(at line (\d+), column (\d+)\)$", str(error))
    if place is None:
        return Problem(file, None, "", f"not valid TOML: {error}")
    message = str(error)[: place.start()]
    return Problem(file, int(place.group(1)), "", f"not valid TOML: {message} at column {place.group(2)}")


def _relevant(errors: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """Keep one error per place: a union reports every branch that failed, a list with bad elements also its length."""
    kept: dict[Path, ErrorDetails] = {}
    for details in errors:
        path, _ = _walk(CampaignSpec, details["loc"])
        kept.setdefault(path, details)
    return [
        details
        for path, details in kept.items()
        if details["type"] != "too_short"
        or not any(len(other) > len(path) and other[: len(path)] == path for other in kept)
    ]


def _message(details: ErrorDetails, path: Path) -> str:
    if "args" in path and path[-1] != "args" and details["type"].endswith("_type"):
        return "should be a flag (true, false), a number, a string or a list of these"
    return str(details["msg"]).removeprefix("Value error, ").replace("Input should", "should")


def _walk(model: type[BaseModel], loc: tuple[int | str, ...]) -> tuple[Path, list[str]]:
    """Turn a pydantic location into the file's path (without union branches), with the valid keys of its last table."""
    path: list[str | int] = []
    here: object = model
    valid: list[str] = []
    for step in loc:
        fields = _fields(here)
        if fields:
            valid = list(fields)
            path.append(step)
            here = fields.get(str(step))
        elif isinstance(step, int):
            path.append(step)
            here = _element(here)
        elif _is_mapping(here):
            path.append(step)
            valid = []
            here = None
    return tuple(path), valid


def _fields(annotation: object) -> dict[str, object]:
    for candidate in _branches(annotation):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return {field.alias or name: field.annotation for name, field in candidate.model_fields.items()}
    return {}


def _element(annotation: object) -> object:
    for candidate in _branches(annotation):
        if typing.get_origin(candidate) in (tuple, list):
            return typing.get_args(candidate)[0]
    return None


def _is_mapping(annotation: object) -> bool:
    return any(typing.get_origin(candidate) is dict for candidate in _branches(annotation))


def _branches(annotation: object) -> list[object]:
    if typing.get_origin(annotation) is typing.Annotated:
        return _branches(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return [branch for part in typing.get_args(annotation) for branch in _branches(part)]
    return [annotation]


def _words(details: ErrorDetails) -> list[str]:
    """Valid words for a value, where there is a closed list of them."""
    if details["type"] == "enum":
        return re.findall(r"'([^']+)'", details["ctx"]["expected"])
    if "prompts" in details["loc"]:
        return [*PROMPT_WORDS, *(f"{name}:" for name in PROMPT_FILES)]
    return []


def _nearest(given: object, words: Sequence[str]) -> str | None:
    given_words = given if isinstance(given, list | tuple) else [given]
    wrong = (word for word in given_words if isinstance(word, str) and word not in words)
    return next((found for word in wrong if (found := nearest(word, words, likeness=0.5))), None)


def _spell(path: Path) -> str:
    spelled = ""
    for step in path:
        spelled += f"[{step + 1}]" if isinstance(step, int) else f".{step}" if spelled else step
    return spelled
