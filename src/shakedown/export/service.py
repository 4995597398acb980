"""What an export describes: the winner's command taken apart, what it needs, and the proof it rests on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from shakedown.domain.base import ArgValue
from shakedown.domain.errors import UserError
from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.domain.units import change, printable, ratio
from shakedown.domain.words import EngineKind
from shakedown.engines.registry import engines
from shakedown.export.secrets import Word, hide_environment, hide_words

FILL_IN = "FILL_IN"
"""Marks every value that the user must give; ``grep FILL_IN`` finds them all."""

COLD_START_FACTOR = 4
"""How much longer than its measured boot a start may take: cold page cache, kernels compiled again."""
LEAST_START_S = 60

_PARALLEL = {
    EngineKind.SGLANG: (("tp", "tp-size", "tensor-parallel-size"), ("pp-size", "pipeline-parallel-size")),
    EngineKind.VLLM: (("tensor-parallel-size", "tp"), ("pipeline-parallel-size", "pp"), ("data-parallel-size", "dp")),
    EngineKind.TENSORRT_LLM: (("tp-size",), ("pp-size",)),
}
"""Arguments whose product is the number of GPUs; the data parallelism of SGLang's attention shares those of ``tp``."""


@dataclass(frozen=True, slots=True)
class Service:
    """The winner as something to run for years. Secrets are names; their values are nowhere in it."""

    name: str
    """Lower case, digits and hyphens: fit for a unit, a container and a DNS label."""
    engine: EngineKind | None
    engine_version: str | None
    argv: tuple[Word, ...]
    env: Mapping[str, str]
    secrets: tuple[str, ...]
    """Environment variables that hold a secret and that whoever runs it must set."""
    port: int
    model_path: str
    health_path: str
    metrics_path: str | None
    start_limit_s: int
    """How long a start may take: the measured boot with room for cold caches."""
    boot_s: float | None
    gpus: int
    nodes: int
    proof: tuple[str, ...]
    """Which campaign proved it, a line each, fit for a comment."""

    @property
    def model_folder(self) -> str | None:
        """What a container must see of this machine to find the model; None where the model is a name on a hub."""
        path = PurePosixPath(self.model_path)
        if not path.is_absolute():
            return None
        return str(path.parent if path.suffix == ".gguf" else path)

    @property
    def image_hint(self) -> str:
        """What the image of a container must hold."""
        kind = self.engine.value if self.engine else "the engine"
        return f"{kind} {self.engine_version}" if self.engine_version else kind


def service_of(result: CampaignResult) -> Service:
    """Take the winner apart.

    Raises:
        UserError: if the campaign has no winner.
    """
    winner = next((c for c in result.candidates if result.winner and c.id == result.winner.id), None)
    if winner is None or result.winner is None:
        raise UserError(
            f"{result.campaign.folder}: nothing to export, no candidate qualified"
            + ("" if result.campaign.complete else " yet; run the campaign to its end")
        )
    env, argv = split_command(result.winner.command)
    kind = _engine_kind(result)
    engine = engines().get(kind) if kind else None
    shown_env, env_secrets = hide_environment(env)
    words, arg_secrets = hide_words(argv)
    return Service(
        name=unit_name(str(result.model.get("name") or result.campaign.name)),
        engine=kind,
        engine_version=_version(result),
        argv=words,
        env=shown_env,
        secrets=tuple(dict.fromkeys([*env_secrets, *arg_secrets])),
        port=_port(argv),
        model_path=str(result.model.get("path") or ""),
        health_path=engine.health_path if engine else "/health",
        metrics_path=engine.metrics_path if engine else None,
        start_limit_s=max(LEAST_START_S, round((winner.boot_s or 0.0) * COLD_START_FACTOR)),
        boot_s=winner.boot_s,
        gpus=_gpus(kind, winner.args, result.machine),
        nodes=_integer(winner.args, ("nnodes",)) or 1,
        proof=proof(result, winner),
    )


def split_command(command: str) -> tuple[dict[str, str], list[str]]:
    """Take a shell line apart into its leading assignments and its words."""
    words = shlex.split(command)
    env: dict[str, str] = {}
    while words and (found := re.fullmatch(r"([A-Za-z_]\w*)=(.*)", words[0], re.DOTALL)):
        env[found.group(1)] = found.group(2)
        words.pop(0)
    if not words:
        raise UserError("the winner's command is empty: this result was not written by Shakedown")
    return env, words


def unit_name(text: str) -> str:
    """Turn a name into a DNS label (RFC 1123): lower case, digits, inner hyphens, at most 50 characters."""
    label = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:50].strip("-")
    return label or "llm"


def proof(result: CampaignResult, winner: CandidateResult) -> tuple[str, ...]:
    """Say which campaign proved this configuration, on what, and how to check that it still holds."""
    info = result.campaign
    day = "" if info.started_at is None else f" of {datetime.fromtimestamp(info.started_at, UTC):%Y-%m-%d}"
    gain = ""
    if winner.objective is not None and winner.id != info.reference:
        gain = f", {change(winner.objective)} than the reference ({ratio(winner.objective, winner.objective_interval)})"
    state = "" if info.complete else "The campaign was not complete: a better configuration may turn up."
    lines = (
        f"Proved by the Shakedown campaign {info.name}{day}, kept in {info.folder}.",
        f"Candidate {winner.id}: {winner.label or 'no label'}{gain}.",
        f"Machine: {_machine_words(result.machine)}. Engine: {_engine_words(result)}.",
        state,
        f"Values to fill in are marked {FILL_IN}. Made by Shakedown {info.shakedown_version}.",
    )
    return tuple(comment(line) for line in lines if line)


def comment(text: str) -> str:
    """One line that cannot leave its comment."""
    return re.sub(r"\s+", " ", printable(text))


def _engine_kind(result: CampaignResult) -> EngineKind | None:
    try:
        return EngineKind(str(result.engine.get("kind")))
    except ValueError:  # an engine of a newer version: its command is still good, its metrics are unknown
        return None


def _version(result: CampaignResult) -> str | None:
    version = result.engine.get("version")
    return None if version is None else comment(str(version))


def _engine_words(result: CampaignResult) -> str:
    return " ".join(str(result.engine[key]) for key in ("kind", "version") if result.engine.get(key) is not None)


def _machine_words(machine: Mapping[str, object]) -> str:
    gpus = machine.get("gpus")
    names = [str(gpu.get("name")) for gpu in gpus if isinstance(gpu, Mapping)] if isinstance(gpus, Sequence) else []
    counted = [f"{names.count(name)} x {name}" for name in dict.fromkeys(names)]
    parts = [str(machine[key]) for key in ("name", "cpu") if machine.get(key)]
    return ", ".join([*parts, *counted]) or "unknown"


def _port(argv: Sequence[str]) -> int:
    for index, word in enumerate(argv):
        flag, equals, value = word.partition("=")
        if flag in {"--port", "-p"}:
            given = value if equals else argv[index + 1] if index + 1 < len(argv) else ""
            if given.isdigit():
                return int(given)
    return 8000


def _gpus(kind: EngineKind | None, args: Mapping[str, ArgValue], machine: Mapping[str, object]) -> int:
    gpus = machine.get("gpus")
    present = len(gpus) if isinstance(gpus, Sequence) and not isinstance(gpus, str) else 0
    if kind is None or kind not in _PARALLEL:
        return present
    count = 1
    for names in _PARALLEL[kind]:
        count *= _integer(args, names) or 1
    return max(count // (_integer(args, ("nnodes",)) or 1), 1)


def _integer(args: Mapping[str, ArgValue], names: Sequence[str]) -> int | None:
    for name in names:
        value = args.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None
