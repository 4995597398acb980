"""The winner's arguments as the engine's own configuration file, for the engines that read one.

SGLang and vLLM read a flat YAML of their long options (``--config``), TensorRT-LLM one of its ``LlmArgs``
(``--config``, before 1.2 ``--extra_llm_api_options``); an argument on the command line wins over the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from shakedown.domain.base import ArgValue
from shakedown.domain.errors import UserError
from shakedown.domain.result import CampaignResult
from shakedown.domain.words import EngineKind
from shakedown.export.base import ExportFormat, Files, fill
from shakedown.export.secrets import hide_environment
from shakedown.export.service import Service

_START = {
    EngineKind.SGLANG: "python3 -m sglang.launch_server --config {file}",
    EngineKind.VLLM: "vllm serve --config {file}",
    EngineKind.TENSORRT_LLM: "trtllm-serve {model} --config {file}",
}
_TRT_COMMAND_LINE = {"host", "port", "backend", "tokenizer", "log-level"}
"""Options of trtllm-serve that are no LlmArgs; they stay on the command line."""


def make(result: CampaignResult, service: Service) -> Files:
    """``NAME-ENGINE.yaml``.

    Raises:
        UserError: the engine reads no configuration file.
    """
    if service.engine not in _START:
        name = service.engine.value if service.engine else "this engine"
        raise UserError(f"{name} reads no configuration file; use --format command or --format systemd")
    winner = next(c for c in result.candidates if result.winner and c.id == result.winner.id)
    file = f"{service.name}-{service.engine.value}.yaml"
    settings, secrets = _settings(service, winner.args)
    start = _START[service.engine].format(file=file, model=service.model_path)
    values = {"service": service, "settings": settings, "secrets": secrets, "start": start, "env": service.env}
    return {file: fill("engine.yaml.jinja", **values)}


def _settings(service: Service, args: Mapping[str, ArgValue]) -> tuple[dict[str, object], tuple[str, ...]]:
    """The file's entries under the engine's spelling, and the arguments left out for being secrets."""
    given = {name: value for name, value in args.items() if value is not False}
    _, secrets = hide_environment({name: str(value) for name, value in given.items()})
    shown = {name: _value(value) for name, value in given.items() if name not in secrets}
    if service.engine is EngineKind.TENSORRT_LLM:
        return {
            name.replace("-", "_"): value for name, value in shown.items() if name not in _TRT_COMMAND_LINE
        }, secrets
    model = "model-path" if service.engine is EngineKind.SGLANG else "model"
    return {model: service.model_path, **shown, "port": service.port}, secrets


def _value(value: ArgValue) -> object:
    """An argument given as JSON text is written as the structure it stands for."""
    if isinstance(value, str) and value.startswith(("{", "[")):
        try:
            return json.loads(value)
        except json.JSONDecodeError:
            return value
    return value


EXPORT = ExportFormat(
    name="engine", summary="the engine's own configuration file (SGLang, vLLM, TensorRT-LLM)", make=make
)
