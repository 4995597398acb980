"""A signature: a rule that recognises one kind of failure in a log, with its cause, its remedy and its own cases."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from shakedown.domain.base import ArgValue, Value
from shakedown.domain.failure import Adjustment
from shakedown.domain.words import Category, EngineKind, Stage


class Tier(StrEnum):
    """What a matching line is worth."""

    ROOT = "root"
    """Says why."""
    SYMPTOM = "symptom"
    """Usually follows from something earlier; the root only where nothing else explains the failure."""
    WRAPPER = "wrapper"
    """Says only that something failed elsewhere; never the root."""
    WARNING = "warning"
    """A healthy server's line that puts its accuracy or speed in doubt."""
    BENIGN = "benign"
    """Sounds bad and means nothing; a line that it matches is no root, whatever else matches it."""


class RemedyRule(Value):
    """The remedy for one engine and one range of its versions; of several, the first that fits counts: newest first.

    Names and values may hold captures (``"{max_len}"``); an entry whose capture the line did not have is left out.
    """

    engine: EngineKind | None = None
    """Needed in ``any/``, where argument names differ by engine; None: for every engine."""
    versions: str = ""
    set: dict[str, ArgValue] = Field(default_factory=dict)
    remove: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    unset_env: tuple[str, ...] = ()
    avoid: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    adjust: dict[str, Adjustment] = Field(default_factory=dict)


class Signature(Value):
    """One file in ``signatures/<engine or any>/<id>.toml``; the folder gives ``engine``, the file name ``id``."""

    id: str
    engine: EngineKind | None
    """None: lies beneath all engines."""
    title: str
    category: Category | None = None
    tier: Tier = Tier.ROOT
    stage: Stage | None = None
    """The stage it belongs to; None: read from where in the log the line stands."""
    versions: str = ""
    """Engine versions in which the wording occurs; informational, an unknown version matches."""
    patterns: tuple[str, ...]
    """RE2 over one line without its prefixes; the first that matches counts."""
    requires: str | None = None
    """A pattern that must match some line of the log too, before or after."""
    generic: bool = False
    """A catch-all: any specific signature on the same line or in the same traceback goes before it."""
    category_by_words: bool = False
    """``category`` holds only where the line's own words do not say what it is about: for catch-alls of any message."""
    confused_with: tuple[str, ...] = ()
    """Ids of signatures, or words, for what this is often taken for."""
    cause: str = ""
    advice: str = ""
    computed: dict[str, str] = Field(default_factory=dict)
    """Name to arithmetic over captures (``"free / total - 0.02"``): usable in advice and remedies like a capture."""
    retryable: bool = False
    """The same launch may succeed when tried again."""
    involves: tuple[str, ...] = ()
    """Arguments this failure depends on: the same values fail again, whatever else is launched with them."""
    sources: tuple[str, ...] = ()
    remedies: tuple[RemedyRule, ...] = ()
    positive: tuple[str, ...] = ()
    """Log lines it must match (several lines in one text: the last-but-one may satisfy ``requires``)."""
    negative: tuple[str, ...] = ()
    """Log lines that look like it and that it must not match."""
