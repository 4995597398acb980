"""Where a server listens, and the bytes of a POST to it: everything about HTTP requests that is known beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from shakedown.domain.errors import UserError


@dataclass(frozen=True, slots=True)
class Address:
    """A server: ``prefix`` is the path of the base URL, without a trailing slash."""

    host: str
    port: int
    tls: bool
    prefix: str

    @property
    def host_header(self) -> str:
        """The value of the Host header; IPv6 in brackets, the port left out where it is the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The base URL in one spelling, without ``/v1`` and trailing slash."""
        return f"{'https' if self.tls else 'http'}://{self.host_header}{self.prefix}"


def parse_base_url(base_url: str) -> Address:
    """Split a base URL; ``http://host:8000``, ``https://host/proxy/`` and a trailing ``/v1`` are understood.

    Raises:
        UserError: if it is no http or https URL with a host.
    """
    try:
        parts = urlsplit(base_url if "://" in base_url else f"http://{base_url}")
        port = parts.port
    except ValueError as error:
        raise UserError(f"--base-url {base_url!r}: {error}") from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UserError(f"--base-url {base_url!r}: expected http://HOST:PORT or https://HOST:PORT")
    tls = parts.scheme == "https"
    prefix = parts.path.rstrip("/").removesuffix("/v1")
    return Address(parts.hostname, port or (443 if tls else 80), tls, prefix)


def post_head(address: Address, path: str, headers: Mapping[str, str]) -> bytes:
    """The head of a JSON POST up to the value of Content-Length, which ``post_bytes`` adds.

    Raises:
        UserError: if a header holds a line break.
    """
    lines = {
        "Host": address.host_header,
        "Content-Type": "application/json",
        "Accept": "text/event-stream, application/json",
        "Accept-Encoding": "identity",
        "Connection": "keep-alive",
    }
    own = {name.title(): name for name in headers}
    lines = {name: value for name, value in lines.items() if name not in own} | dict(headers)
    for name, value in lines.items():
        if any(mark in name + value for mark in "\r\n\0"):
            raise UserError(f"header {name!r}: a name or value holds a line break")
    text = f"POST {address.prefix}{path} HTTP/1.1\r\n" + "".join(
        f"{name}: {value}\r\n" for name, value in lines.items()
    )
    return text.encode("utf-8") + b"Content-Length: "


def post_bytes(head: bytes, body: bytes) -> bytes:
    """One whole request, ready for the socket."""
    return b"%b%d\r\n\r\n%b" % (head, len(body), body)
