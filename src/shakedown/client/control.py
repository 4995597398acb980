"""Control requests to a server: health, settings, one-off generations. Never used for measuring."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

import httpx

from shakedown.client.transport import Transport
from shakedown.domain.errors import ClientError


class ControlClient:
    """Small synchronous JSON client with a base URL; safe to share between threads.

    Args:
        base_url: scheme, host, port and optional prefix, without ``/v1``.
        api_key: sent as a bearer token where given.
        timeout_s: limit of each request, seconds.
        headers: further headers of every request.
        verify_tls: False accepts any certificate.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout_s: float = 60.0,
        headers: Mapping[str, str] | None = None,
        verify_tls: bool = True,
    ) -> None:
        sent = ({"Authorization": f"Bearer {api_key}"} if api_key else {}) | dict(headers or {})
        # Without TLS nothing is verified, and reading the certificate authorities takes longer than a request.
        verify = verify_tls and base_url.startswith("https:")
        self._http = httpx.Client(
            base_url=base_url.rstrip("/"),
            headers=sent,
            timeout=timeout_s,
            transport=Transport(verify_tls=verify),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def status(self, path: str) -> int | None:
        """HTTP status of a GET, or None when nobody answers."""
        try:
            return self._http.get(path).status_code
        except httpx.HTTPError:
            return None

    def text(self, path: str) -> str:
        """Body of a GET as text.

        Raises:
            ClientError: on a connection failure or a status of 400 and above.
        """
        return self._send("GET", path, None).text

    def json(self, method: str, path: str, body: Mapping[str, object] | None = None) -> dict[str, object]:
        """JSON object that the server answers.

        Raises:
            ClientError: on a connection failure, a status of 400 and above, or a body that is no JSON object.
        """
        response = self._send(method, path, body)
        try:
            answer = response.json()
        except ValueError as error:
            raise ClientError(f"{method} {path}: not JSON: {response.text[:200]!r}") from error
        if not isinstance(answer, dict):
            raise ClientError(f"{method} {path}: expected a JSON object, got {type(answer).__name__}")
        return answer

    def _send(self, method: str, path: str, body: Mapping[str, object] | None) -> httpx.Response:
        try:
            response = self._http.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise ClientError(f"{method} {path}: {type(error).__name__}: {error}") from error
        if response.is_error:
            raise ClientError(f"{method} {path}: HTTP {response.status_code}: {response.text[:500]}")
        return response
