"""Readiness: the health endpoint answers, the process that listens is ours, and the server has generated a token."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial

import httpx

from shakedown.client.control import ControlClient
from shakedown.domain.errors import ClientError
from shakedown.launch.port import Listener, listeners
from shakedown.launch.process_tree import descendants

TOKEN_PATH = "/v1/completions"  # noqa: S105 - a path

_CONTAINER_CLIENTS = frozenset({"docker", "podman", "nerdctl", "enroot", "srun", "kubectl"})
"""Programs that start the server outside their own process tree."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Who answers on our port: ``ours`` is in the engine's tree, ``stranger`` is not and may not be."""

    ours: Listener | None = None
    stranger: Listener | None = None


def who_listens(port: int, *, root: int, program: str) -> Listening:
    """Say whether the process that listens on ``port`` is below ``root``.

    A container client starts its server elsewhere; then whoever listens is taken for it, since the port was proven
    free before the launch.
    """
    found = listeners(port)
    tree = set(descendants(root))
    for listener in found:
        if listener.pid in tree:
            return Listening(ours=listener)
    if not found:
        return Listening()
    return Listening(ours=found[0]) if program in _CONTAINER_CLIENTS else Listening(stranger=found[0])


class TokenProbe:
    """Asks for one token in a thread of its own: a first token may take minutes of compilation, and boot goes on."""

    def __init__(self, base_url: str, *, model: str, api_key: str | None, timeout_s: float) -> None:
        self._request = {"model": model, "prompt": "Hello", "max_tokens": 1, "temperature": 0}
        self._connect = partial(ControlClient, base_url, api_key=api_key, timeout_s=timeout_s)
        self._thread: threading.Thread | None = None
        self._error: ClientError | None = None
        self._answered = False
        self.refusals = 0
        """How often the server answered with an error instead of a token."""
        self.last_refusal = ""

    def poll(self) -> bool:
        """Whether a token was generated; sends the next request when none is under way."""
        if self._thread is not None and self._thread.is_alive():
            return False
        if self._answered:
            return True
        if self._error is not None and not isinstance(self._error.__cause__, httpx.HTTPError):
            self.refusals += 1
            self.last_refusal = str(self._error)
        self._error = None
        # A daemon: a server that never answers must not keep the trial alive.
        self._thread = threading.Thread(target=self._ask, name="token-probe", daemon=True)
        self._thread.start()
        return False

    def _ask(self) -> None:
        try:
            with self._connect() as client:
                client.json("POST", TOKEN_PATH, self._request)
        except ClientError as error:
            self._error = error
        else:
            self._answered = True
