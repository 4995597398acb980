"""How HTTP requests travel outside of measuring: connections kept open, and one that went stale is no failure.

A server closes a connection that was idle for some seconds (uvicorn and cpp-httplib: five). Where the next request is
on its way at that very moment, it meets a closed connection and no answer comes, though nothing is wrong with the
server.
"""

from __future__ import annotations

import httpx

CONNECTIONS = 128
"""Most requests at once, and most connections kept; the widest check sends 64."""


class Transport(httpx.BaseTransport):
    """Sends a request once more where a connection used before was closed without an answer.

    A request on a new connection is never sent twice: its failure says something about the server. The requests sent
    this way change nothing at the server, so they may be repeated (RFC 9110, section 9.2.2).

    Args:
        verify_tls: False accepts any certificate.
    """

    def __init__(self, *, verify_tls: bool) -> None:
        # trust_env=False: a proxy in the environment must never stand between a client and the server beside it.
        limits = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
        self._inner = httpx.HTTPTransport(verify=verify_tls, limits=limits, trust_env=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send it and give the answer, its body unread.

        Raises:
            httpx.TransportError: no answer came on a new connection, or twice.
        """
        opened = False

        def trace(event: str, _: object) -> None:
            nonlocal opened
            opened = opened or event == "connection.connect_tcp.started"

        request.extensions = {**request.extensions, "trace": trace}
        try:
            return self._inner.handle_request(request)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            if opened:
                raise
            return self._inner.handle_request(request)

    def close(self) -> None:
        """Close all connections."""
        self._inner.close()
