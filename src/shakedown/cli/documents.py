"""The JSON document of each command as a type: what ``shakedown schema`` publishes, and tests hold outputs against."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from shakedown.campaign.up import Attempt
from shakedown.diagnose.signature import Signature
from shakedown.domain.base import ArgValue, Value
from shakedown.domain.candidate import EngineRef, ModelRef
from shakedown.domain.check import CheckResult
from shakedown.domain.comparison import ComparisonResult
from shakedown.domain.events import Event
from shakedown.domain.facts import EngineFacts, MachineFacts, ModelFacts
from shakedown.domain.failure import Diagnosis
from shakedown.domain.result import SCHEMA, CampaignResult
from shakedown.domain.verification import Verification
from shakedown.domain.words import CheckVerdict
from shakedown.load.bench import BenchResult
from shakedown.plan.capacity import Capacity
from shakedown.plan.ceiling import Ceiling
from shakedown.plan.outcome import Duration, PlanWarning

_Schema = Annotated[Literal["shakedown/1"], Field(alias="schema")]


class InspectDocument(Value):
    """``inspect --json``."""

    model: ModelFacts | None
    machine: MachineFacts
    engine: EngineFacts | None


class InitDocument(Value):
    """``init --json``."""

    schema_: _Schema = SCHEMA
    file: str | None
    """Where it was written; None: nowhere."""
    campaign: str
    """The campaign file's text."""


class PlannedCandidate(Value):
    """A candidate with its id."""

    id: str
    engine: EngineRef
    model: ModelRef
    args: dict[str, ArgValue]
    env: dict[str, str]
    settings: dict[str, str]
    label: str
    derived_from: str | None
    remedy: str | None


class PrunedDocument(PlannedCandidate):
    """A candidate that cannot work as it stands."""

    rule: str
    also: tuple[str, ...]
    reason: str
    sources: tuple[str, ...]
    completed: str | None


class PlanDocument(Value):
    """``plan --json``."""

    schema_: _Schema = SCHEMA
    campaign: str
    model: ModelFacts | None = None
    machine: MachineFacts | None = None
    engine: EngineFacts
    candidates: tuple[PlannedCandidate, ...]
    pruned: tuple[PrunedDocument, ...]
    warnings: tuple[PlanWarning, ...]
    notes: tuple[str, ...]
    capacity: tuple[Capacity, ...]
    ceiling: tuple[Ceiling, ...]
    at_least: Duration | None
    expected: dict[str, dict[str, ArgValue | None]]


class UpDocument(Value):
    """``up --json``."""

    schema_: _Schema = SCHEMA
    up: bool
    base_url: str | None
    pid: int | None
    folder: str
    attempts: tuple[Attempt, ...]
    refused: str | None


class CheckDocument(Value):
    """``check --json``."""

    schema_: _Schema = SCHEMA
    verdict: CheckVerdict
    checks: tuple[CheckResult, ...]


class ExportDocument(Value):
    """``export --json``."""

    format: str
    files: dict[str, str]
    """Name to text."""


DOCUMENTS: dict[str, type[Value] | TypeAdapter[Any]] = {
    "demo": CampaignResult,
    "inspect": InspectDocument,
    "init": InitDocument,
    "plan": PlanDocument,
    "run": CampaignResult,
    "up": UpDocument,
    "report": CampaignResult,
    "export": ExportDocument,
    "compare": ComparisonResult,
    "verify": Verification,
    "bench": BenchResult,
    "check": CheckDocument,
    "diagnose": TypeAdapter(Diagnosis | Signature),
    "trial": TypeAdapter(Event),
}
"""Command to its document; ``trial`` writes one on each line, ``diagnose --explain`` a signature."""


def json_schema(command: str) -> dict[str, object]:
    """JSON Schema (draft 2020-12) of a command's document. Numbers that are infinite are written as strings."""
    document = DOCUMENTS[command]
    if isinstance(document, TypeAdapter):
        found = document.json_schema(mode="serialization", by_alias=True)
    else:
        found = document.model_json_schema(mode="serialization", by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found, "title": f"shakedown {command} --json"}
