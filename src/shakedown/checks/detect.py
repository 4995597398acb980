"""Which engine answers at a URL, and which model it serves."""

from __future__ import annotations

from shakedown.checks.server import Server
from shakedown.domain.errors import ClientError, UserError
from shakedown.domain.words import EngineKind
from shakedown.domain.workload import Target
from shakedown.engines.base import Engine
from shakedown.engines.registry import engines

OWNERS = {"llamacpp": EngineKind.LLAMA_CPP, "vllm": EngineKind.VLLM, "sglang": EngineKind.SGLANG}
"""``owned_by`` in ``/v1/models``."""
MARKS = (("/props", "total_slots", EngineKind.LLAMA_CPP), ("/server_info", "max_total_num_tokens", EngineKind.SGLANG))
"""Endpoint, key of its answer, engine: for servers that hide behind another ``owned_by``."""


def find_server(target: Target) -> tuple[Target, Engine | None]:
    """Complete ``target`` with the served model where it names none, and find the adapter; None: unknown engine.

    Raises:
        UserError: if nobody answers, or no model is named and the server lists none.
    """
    with Server(target.model_copy(update={"request_timeout_s": min(target.request_timeout_s, 10.0)})) as server:
        try:
            listed = server.list_models()
        except ClientError as error:
            raise UserError(
                f"{target.base_url}: no server answers here ({error}); is it running, is the port right?"
            ) from error
        kind = next((OWNERS[owner] for _, owner in listed if owner in OWNERS), None)
        for path, key, marked in MARKS:
            if kind is None and key in (server.get(path) or {}):
                kind = marked
    if not target.model:
        if not listed:
            raise UserError(f"{target.base_url}: the server lists no model; name one with --model")
        target = target.model_copy(update={"model": listed[0][0]})
    return target, engines().get(kind) if kind is not None else None
