"""Ports: a free one, and who listens on one."""

from __future__ import annotations

import socket
from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class Listener:
    """The process behind a listening socket, as far as this user may see it."""

    pid: int | None
    """None where the kernel does not show it (another user's process)."""
    command: str
    started_at: float | None

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command})" if self.pid is not None else "a process of another user"


def free_port(host: str) -> int:
    """Return a TCP port of ``host`` that nobody listens on now. It is not held: who is slow may find it taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def bind_error(host: str, port: int) -> OSError | None:
    """Return why no server could listen on ``host:port`` now; None when one could."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # As servers do: connections of a server that is gone (TIME_WAIT) are no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            return error
    return None


def listeners(port: int) -> list[Listener]:
    """Return who listens on ``port`` of any address of this machine."""
    pids = {
        connection.pid
        for connection in psutil.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port
    }
    return [_listener(pid) for pid in sorted(pids, key=lambda pid: pid or 0)]


def _listener(pid: int | None) -> Listener:
    if pid is None:
        return Listener(pid=None, command="", started_at=None)
    try:
        process = psutil.Process(pid)
        return Listener(pid=pid, command=" ".join(process.cmdline()), started_at=process.create_time())
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return Listener(pid=pid, command="?", started_at=None)
