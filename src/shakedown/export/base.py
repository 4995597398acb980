"""What an export format is. A module of this package with a top-level ``EXPORT`` is one; it is found by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from shakedown.domain.result import CampaignResult
from shakedown.export.service import FILL_IN, Service

Files = dict[str, str]
"""File name to text."""


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """One kind of file that puts the winner into production.

    ``make`` raises ``UserError`` where the engine has no such file.
    """

    name: str
    summary: str
    make: Callable[[CampaignResult, Service], Files]


def fill(template: str, **values: object) -> str:
    """Fill a template of this package. ``quote`` writes a value as JSON, which is YAML too."""
    return _environment().get_template(template).render(FILL_IN=FILL_IN, **values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("shakedown.export"),
        autoescape=False,  # noqa: S701 - the files are not HTML; each template quotes for its own language
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["quote"] = quote
    return environment


def quote(value: object) -> str:
    """A value as JSON: a scalar, list or mapping that YAML reads the same way (YAML 1.2, section 1.3)."""
    return json.dumps(value, ensure_ascii=False)
