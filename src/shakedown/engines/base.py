"""What an engine adapter is: one pure object that turns a candidate into a launch and reads what the server says.

An adapter starts nothing, opens nothing and reads no clock. ``launch`` starts what ``launch_plan`` describes, feeds log
lines and HTTP answers back, and the adapter says what they mean. Every adapter is found by itself
(``shakedown.engines.registry``) and held by one contract suite (``tests/contract/test_engines.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from shakedown.domain.base import ArgValue, Scalar
from shakedown.domain.candidate import Candidate
from shakedown.domain.facts import LaunchShape
from shakedown.domain.metric import CounterWindow
from shakedown.domain.trial import Span
from shakedown.domain.words import EngineKind


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """How to start a server: argument vector, environment on top of the caller's, config files to write first."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    """Name (relative to the trial's folder) to content; ``argv`` refers to them as ``{folder}/name``."""


@dataclass(frozen=True, slots=True)
class BootPhase:
    """A stage of booting, recognised by a regular expression in the log, in the order they normally pass."""

    name: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Probe:
    """One HTTP request of the adapter's choice, relative to the base URL."""

    method: Literal["GET", "POST"]
    path: str
    body: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """Log-probabilities at one position: the token that stood there, and the most likely ones, natural logarithm."""

    token_id: int
    logprob: float | None
    """None where the engine gave none for this token."""
    top: Mapping[int, float]
    """Token id to log-probability of the most likely tokens at this position, as many as were asked for."""


class PromptDialect(Protocol):
    """How to get log-probabilities of every prompt position by one request."""

    def request(self, token_ids: Sequence[int], top: int, model: str) -> Probe:
        """Build the request."""
        ...

    def parse(self, answer: Mapping[str, object]) -> list[TokenLogprobs]:
        """Read the positions, the first one (which has no context) left out."""
        ...


class LogprobDialect(Protocol):
    """How to get log-probabilities of token ids from this engine."""

    @property
    def prompt(self) -> PromptDialect | None:
        """Of a whole prompt at once (SGLang, vLLM); None where only generated tokens have them."""
        ...

    def next_token_request(self, token_ids: Sequence[int], top: int, model: str) -> Probe:
        """Build a request that generates one token greedily after ``token_ids`` and returns its alternatives."""
        ...

    def parse_next_token(self, answer: Mapping[str, object]) -> TokenLogprobs:
        """Read the generated token and its alternatives."""
        ...


class Engine(Protocol):
    """One inference engine."""

    kind: EngineKind
    boot_phases: Sequence[BootPhase]
    health_path: str
    """Answers 200 when the server is up; readiness also needs a generated token."""
    metrics_path: str | None
    aliases: Mapping[str, str]
    """Other spellings of arguments (``ctk``) to the canonical ones (``cache-type-k``), no leading dashes."""
    supports_ignore_eos: bool
    logprobs: LogprobDialect
    cache_flush: Probe | None
    """Request that empties the prefix cache; None where the engine has none."""
    info_probes: Sequence[Probe]
    """Requests whose JSON answers ``effective_settings`` reads, in order."""

    def canonical_args(self, args: Mapping[str, ArgValue]) -> dict[str, ArgValue]:
        """Return ``args`` under canonical names."""
        ...

    def launch_plan(self, candidate: Candidate, *, host: str, port: int) -> LaunchPlan:
        """Turn a candidate into a process. Metrics that counters need are switched on."""
        ...

    def launch_shape(self, args: Mapping[str, ArgValue]) -> LaunchShape:
        """Say what the arguments mean for memory and speed, in the vocabulary that ``plan`` works with."""
        ...

    def effective_settings(
        self, answers: Sequence[Mapping[str, object] | None], log_lines: Iterable[str]
    ) -> dict[str, Scalar | None]:
        """Read what the server says it runs with. Keys: docs/architecture.md, 'Effective settings'."""
        ...

    def counters(self, metrics_text: str) -> CounterWindow:
        """Read the cumulative counters and present gauges from the text of ``metrics_path``.

        ``load`` takes two readings and subtracts the cumulative ones.
        """
        ...

    def lossy_settings(self, args: Mapping[str, ArgValue], env: Mapping[str, str] | None = None) -> list[str]:
        """Say, a sentence each, which arguments and variables change the model's output distribution."""
        ...

    def forced_acceptance(self, candidate: Candidate, *, draft_tokens: int, accept_length: float) -> Candidate | None:
        """Give a launch that drafts ``draft_tokens`` in every step and makes ``accept_length`` up, to measure its cost.

        Its text is not the model's, so it is never a candidate. None where the candidate does not speculate, where not
        every step of it drafts, or where the engine cannot do this.
        """
        ...

    def command_line(self, candidate: Candidate, *, host: str = "127.0.0.1", port: int = 8000) -> str:
        """Give the shell line that starts the candidate by hand, environment included."""
        ...


@runtime_checkable
class SpanningEngine(Protocol):
    """An engine whose server can span several hosts, each started by its own command."""

    def rank_args(self, span: Span) -> dict[str, ArgValue]:
        """Arguments of one rank, on top of the candidate's."""
        ...
