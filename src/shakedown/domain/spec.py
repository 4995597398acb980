"""The campaign file as types: sections, keys, limits. ``spec_file`` reads one and finds everything wrong with it."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from shakedown.domain.base import ArgValue, Scalar, Value
from shakedown.domain.candidate import EngineRef, ModelRef, argument_name
from shakedown.domain.trial import Limits
from shakedown.domain.units import parse_duration_s
from shakedown.domain.words import EngineKind, GateLevel, Objective, OnDisconnect, PlaceKind, StrategyKind
from shakedown.domain.workload import Arrival, LoadLevel, Workload

PROMPT_WORDS = ("text", "text:prose", "text:code", "text:chat", "repeating", "random-tokens")
"""Prompt sources that need no file."""
PROMPT_FILES = ("sharegpt", "jsonl", "trace")
"""Prompt sources written ``word:FILE``."""
SLO_KEY = re.compile(r"(ttft|itl|tpot|e2el)_(mean|p50|p90|p99|max)")


def _as_tuple(value: object) -> object:
    return value if isinstance(value, list | tuple) else (value,)


def _argument_names(value: object) -> object:
    return {argument_name(str(key)): item for key, item in value.items()} if isinstance(value, dict) else value


def _env_values(value: object) -> object:
    """Environment values are text; a bare number in the file is taken as its text."""
    if not isinstance(value, dict):
        return value
    return {key: str(item) if type(item) in (int, float) else item for key, item in value.items()}


def _check_prompts(sources: tuple[str, ...]) -> tuple[str, ...]:
    for source in sources:
        word, _, rest = source.partition(":")
        if source not in PROMPT_WORDS and not (word in PROMPT_FILES and rest):
            known = ", ".join((*PROMPT_WORDS, *(f"{name}:FILE" for name in PROMPT_FILES)))
            raise ValueError(f"{source!r} is not a prompt source; there are {known}")
    return sources


def _check_slo(limits: dict[str, float]) -> dict[str, float]:
    for key in limits:
        if not SLO_KEY.fullmatch(key):
            raise ValueError(f"{key!r} is not a limit; write metric_percentile such as ttft_p99 or tpot_p50")
    return limits


Duration = Annotated[float, BeforeValidator(parse_duration_s)]
Args = Annotated[dict[str, ArgValue], BeforeValidator(_argument_names)]
Env = Annotated[dict[str, str], BeforeValidator(_env_values)]
Slo = Annotated[dict[str, Duration], AfterValidator(_check_slo)]
HostName = Annotated[str, Field(min_length=1, pattern=r"^[^\s-]\S*$")]
"""One word that no program takes for an option."""
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\s/\\][^/\\\n]*$")]


class CampaignSection(Value):
    """``[campaign]``."""

    name: Name
    objective: Objective = Objective.OUTPUT_TOKENS_PER_S
    budget_s: Annotated[Duration | None, Field(alias="budget")] = None
    strategy: StrategyKind = StrategyKind.STAGED
    launch_pruned: bool = False
    """Launch pruned candidates once all the same; the log must name the remedy that the rule named."""


class ModelSection(Value):
    """``[model]``. A path beginning with ``demo:`` is the model that ``shakedown demo`` fetches."""

    path: str = Field(min_length=1)
    name: str | None = Field(default=None, min_length=1)


class EngineSection(Value):
    """``[engine]``."""

    kind: EngineKind
    python: str | None = Field(default=None, min_length=1)
    command: tuple[str, ...] | None = Field(default=None, min_length=1)
    args: Args = Field(default_factory=dict)
    env: Env = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_way_to_start(self) -> EngineSection:
        if self.python is not None and self.command is not None:
            raise ValueError("give python or command, not both")
        return self


class Option(Value):
    """One option of a dimension: merged over the engine's arguments and environment; it may bring another build."""

    label: Name
    args: Args = Field(default_factory=dict)
    env: Env = Field(default_factory=dict)
    python: str | None = Field(default=None, min_length=1)
    command: tuple[str, ...] | None = Field(default=None, min_length=1)


class Dimension(Value):
    """``[[vary]]``: either ``arg`` with ``values``, or ``options``. The first one belongs to the reference."""

    name: Name
    arg: Annotated[str, AfterValidator(argument_name)] | None = Field(default=None, min_length=1)
    values: tuple[Scalar | list[Scalar], ...] | None = Field(default=None, min_length=1)
    options: tuple[Option, ...] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _one_form(self) -> Dimension:
        if (self.options is None) == (self.arg is None) or (self.arg is None) != (self.values is None):
            raise ValueError("give either arg with values, or options")
        labels = [choice.label for choice in self.choices]
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if twice:
            raise ValueError(f"the same choice stands twice: {', '.join(twice)}")
        return self

    @property
    def choices(self) -> tuple[Option, ...]:
        """The options, whichever way they were written."""
        if self.options is not None:
            return self.options
        assert self.arg is not None
        assert self.values is not None
        return tuple(Option(label=_value_label(value), args={self.arg: value}) for value in self.values)


def _value_label(value: ArgValue) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return ",".join(str(item) for item in value) if isinstance(value, list) else str(value)


class WorkloadSection(Value):
    """``[[workload]]``."""

    name: Name
    prompts: Annotated[tuple[str, ...], BeforeValidator(_as_tuple), AfterValidator(_check_prompts)] = ("text",)
    input_tokens: int = Field(default=512, ge=1)
    output_tokens: int = Field(default=128, ge=1)
    concurrency: Annotated[tuple[Annotated[int, Field(ge=1)], ...], BeforeValidator(_as_tuple)] = ()
    request_rate: Annotated[tuple[Annotated[float, Field(gt=0)], ...], BeforeValidator(_as_tuple)] = ()
    arrival: Arrival = Arrival.POISSON
    burstiness: float = Field(default=1.0, gt=0)
    requests: int | None = Field(default=None, ge=1)
    duration_s: Annotated[Duration | None, Field(alias="duration")] = None
    repeats: int | None = Field(default=None, ge=1)
    warmup_requests: int | None = Field(default=None, ge=0)
    weight: float = Field(default=1.0, gt=0)
    slo: Slo = Field(default_factory=dict)
    ignore_eos: bool = True

    @model_validator(mode="after")
    def _has_a_load(self) -> WorkloadSection:
        if bool(self.concurrency) == bool(self.request_rate):
            raise ValueError("give either concurrency or request_rate, as a number or a list")
        for levels in (self.concurrency, self.request_rate):
            if len(set(levels)) != len(levels):
                raise ValueError("the same load stands twice")
        return self


class AccuracySection(Value):
    """``[gates] accuracy``: the reference is always the campaign's own; ``max_kl`` in nats."""

    reference: Annotated[str, Field(pattern="^baseline$")] = "baseline"
    max_kl: float = Field(default=0.05, gt=0)


class GatesSection(Value):
    """``[gates]``."""

    level: GateLevel = GateLevel.STANDARD
    accuracy: AccuracySection = AccuracySection()
    skip: tuple[str, ...] = ()
    """Checks that are not asked, by name: random weights (``load-format = "dummy"``) write no sense on any server."""


class DecideSection(Value):
    """``[decide]``."""

    margin: float = Field(default=0.02, gt=0, lt=1)
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    launches: int = Field(default=2, ge=1, le=100)
    repeats: int = Field(default=3, ge=1, le=1000)


class LimitsSection(Value):
    """``[limits]``: how long a server may show no progress; see ``Limits``."""

    boot_stall_s: Annotated[Duration, Field(alias="boot_stall")] = Limits().boot_stall_s
    boot_total_s: Annotated[Duration, Field(alias="boot_total")] = Limits().boot_total_s
    serve_stall_s: Annotated[Duration, Field(alias="serve_stall")] = Limits().serve_stall_s


class SpeculationSection(Value):
    """``[speculation]``: whether to measure the cost of a verification step apart from the quality of drafts."""

    forced_acceptance: bool = True
    draft_tokens: Annotated[tuple[Annotated[int, Field(ge=1, le=64)], ...], BeforeValidator(_as_tuple)] = (
        1,
        2,
        3,
        4,
        5,
    )
    """Draft lengths to predict; the shortest and the longest are launched, with acceptance made up."""


class MachineSection(Value):
    """``[machine]``: a description of a machine that cannot be seen from here."""

    file: str | None = None


class PlaceSection(Value):
    """``[place]``: where trials run. Each kind takes the keys named in ``PLACE_KEYS``."""

    kind: PlaceKind = PlaceKind.LOCAL
    hosts: Annotated[tuple[HostName, ...], BeforeValidator(_as_tuple)] = ()
    """Names of an OpenSSH configuration, or nodes of the cluster; empty: all nodes of the partition."""
    nodes: int = Field(default=1, ge=1)
    """Hosts that one server spans; ``hosts`` are shared out in their order, the first of each group leads."""
    ssh_config: str | None = Field(default=None, min_length=1)
    """A configuration file in place of the user's own (``ssh -F``)."""
    python: str | None = Field(default=None, min_length=1)
    """Interpreter on the hosts for which Shakedown brings itself; by default the newest found."""
    shakedown: str | None = Field(default=None, min_length=1)
    """Interpreter on the hosts in which this version of Shakedown is installed already."""
    on_disconnect: OnDisconnect = OnDisconnect.STOP
    reconnect_s: Annotated[Duration, Field(alias="reconnect")] = 120.0
    """For so long a host that does not answer is tried again before it is given up."""
    address: str | None = Field(default=None, min_length=1)
    """Of a Ray cluster; by default the one that runs here, ``local`` starts one."""
    partition: str | None = Field(default=None, min_length=1)
    gpus: int | None = Field(default=None, ge=0)
    """GPUs that a trial asks the cluster for."""
    time_limit_s: Annotated[Duration | None, Field(alias="time_limit")] = None
    options: tuple[str, ...] = ()
    """Further words for ``sbatch`` and ``srun``."""
    folder: str | None = Field(default=None, min_length=1)
    """A folder that this machine and the cluster's nodes share; by default the user's cache."""

    @model_validator(mode="after")
    def _fits_its_kind(self) -> PlaceSection:
        allowed = {"kind", *PLACE_KEYS[self.kind]}
        for name, field in type(self).model_fields.items():
            if name not in allowed and getattr(self, name) != field.default:
                raise ValueError(f"{field.alias or name} is not for a place of kind {self.kind.value}")
        if self.kind is PlaceKind.SSH and not self.hosts:
            raise ValueError("hosts is missing: name at least one host of your ssh configuration")
        if self.python is not None and self.shakedown is not None:
            raise ValueError("give python or shakedown, not both")
        if len(set(self.hosts)) != len(self.hosts):
            raise ValueError("the same host stands twice")
        if len(self.hosts) % self.nodes:
            raise ValueError(f"{len(self.hosts)} hosts cannot be shared out to servers of {self.nodes} nodes")
        return self


_ELSEWHERE = ("hosts", "nodes", "shakedown", "on_disconnect", "reconnect_s")
PLACE_KEYS: dict[PlaceKind, tuple[str, ...]] = {
    PlaceKind.LOCAL: (),
    PlaceKind.SSH: (*_ELSEWHERE, "python", "ssh_config"),
    PlaceKind.RAY: (*_ELSEWHERE, "address", "gpus"),
    PlaceKind.SLURM: (*_ELSEWHERE, "partition", "gpus", "time_limit_s", "options", "folder"),
}
"""What may be said of each kind of place."""


class CampaignSpec(Value):
    """A whole campaign file."""

    campaign: CampaignSection
    model: ModelSection
    engine: EngineSection
    vary: tuple[Dimension, ...] = ()
    workload: tuple[WorkloadSection, ...] = Field(min_length=1)
    gates: GatesSection = GatesSection()
    decide: DecideSection = DecideSection()
    slo: Slo = Field(default_factory=dict)
    machine: MachineSection = MachineSection()
    place: PlaceSection = PlaceSection()
    limits: LimitsSection = LimitsSection()
    speculation: SpeculationSection = SpeculationSection()

    def workloads(self) -> tuple[Workload, ...]:
        """The workloads with the campaign's defaults filled in."""
        filled = []
        for section in self.workload:
            content = section.model_dump(by_alias=False)
            content["repeats"] = section.repeats or self.decide.repeats
            content["slo"] = {**self.slo, **section.slo}
            filled.append(Workload.model_validate(content))
        return tuple(filled)

    def model_ref(self) -> ModelRef:
        """The model, named by its file or folder where no name was given."""
        stem = self.model.path.rstrip("/").rsplit("/", 1)[-1].removesuffix(".gguf")
        return ModelRef(path=self.model.path, name=self.model.name or stem)

    def engine_ref(self) -> EngineRef:
        """The engine as the file names it, versions not yet known."""
        return EngineRef(kind=self.engine.kind, python=self.engine.python, command=self.engine.command)


def load_levels(workload: Workload) -> tuple[LoadLevel, ...]:
    """The levels of a workload in the order they are measured: light before heavy."""
    if workload.concurrency:
        return tuple(LoadLevel(concurrency=value) for value in sorted(workload.concurrency))
    return tuple(LoadLevel(request_rate=value) for value in sorted(workload.request_rate))
