"""What stands at a base URL: its models, its engine, its counters. Asked before and beside the load, never in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shakedown.client.control import ControlClient
from shakedown.domain.base import Scalar
from shakedown.domain.errors import ClientError
from shakedown.domain.metric import CounterWindow
from shakedown.domain.words import EngineKind
from shakedown.domain.workload import Target
from shakedown.engines.base import Engine
from shakedown.engines.registry import engines

_OWNERS = {
    "llamacpp": EngineKind.LLAMA_CPP,
    "sglang": EngineKind.SGLANG,
    "vllm": EngineKind.VLLM,
    "tensorrt_llm": EngineKind.TENSORRT_LLM,
}
"""``owned_by`` of a model in ``/v1/models``, as each engine writes it."""

_METRIC_PREFIXES = {
    "llamacpp:": EngineKind.LLAMA_CPP,
    "sglang:": EngineKind.SGLANG,
    "vllm:": EngineKind.VLLM,
    "trtllm_": EngineKind.TENSORRT_LLM,
}

_COUNTS_EVERY_CHUNK = {EngineKind.VLLM, EngineKind.SGLANG}
"""Engines whose stream can carry running usage, which tells how many tokens each chunk brought."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a server says of itself; None where it says nothing."""

    models: tuple[str, ...]
    engine: EngineKind | None
    effective: Mapping[str, Scalar | None]
    """Effective settings in the words of docs/architecture.md."""


def identify(client: ControlClient) -> ServerFacts:
    """Ask a server what it is.

    Raises:
        ClientError: if nobody answers at the address.
    """
    if client.status("/v1/models") is None:
        raise ClientError("nobody answers")
    listed = _json(client, "/v1/models").get("data")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    models = tuple(str(entry["id"]) for entry in entries if "id" in entry)
    owners = [_OWNERS.get(str(entry.get("owned_by"))) for entry in entries]
    kind = next((owner for owner in owners if owner is not None), None) or _by_metrics(client)
    engine = engines().get(kind) if kind is not None else None
    return ServerFacts(models, kind, {} if engine is None else _effective(client, engine))


def _json(client: ControlClient, path: str) -> dict[str, object]:
    try:
        return client.json("GET", path)
    except ClientError:
        return {}


def _by_metrics(client: ControlClient) -> EngineKind | None:
    try:
        text = client.text("/metrics")
    except ClientError:
        return None
    lines = text.splitlines()
    return next((kind for prefix, kind in _METRIC_PREFIXES.items() if any(prefix in line for line in lines)), None)


def _effective(client: ControlClient, engine: Engine) -> dict[str, Scalar | None]:
    answers: list[Mapping[str, object] | None] = []
    for probe in engine.info_probes:
        try:
            answers.append(client.json(probe.method, probe.path, probe.body))
        except ClientError:
            answers.append(None)
    return engine.effective_settings(answers, ())


def counter_sampler(client: ControlClient, kind: EngineKind | None) -> Callable[[], CounterWindow | None] | None:
    """A reader of the server's counters, or None where there is no adapter or it serves none."""
    engine = engines().get(kind) if kind is not None else None
    if engine is None or engine.metrics_path is None or client.status(engine.metrics_path) != 200:
        return None
    path = engine.metrics_path

    def sample() -> CounterWindow | None:
        try:
            return engine.counters(client.text(path))
        except ClientError:
            return None

    return sample


def fit_target(target: Target, kind: EngineKind | None) -> Target:
    """Ask the engine for running usage where it has it; what the user put into ``extra_body`` stays."""
    if kind not in _COUNTS_EVERY_CHUNK or not target.stream or "stream_options" in target.extra_body:
        return target
    options = {"include_usage": True, "continuous_usage_stats": True}
    return target.model_copy(update={"extra_body": {"stream_options": options, **target.extra_body}})
