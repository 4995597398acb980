"""A connection that the server closed while it lay idle, against a server that leaves a request without an answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from shakedown.checks.server import Server
from shakedown.client.control import ControlClient
from shakedown.domain.errors import ClientError
from shakedown.domain.workload import Target
from shakedown.engines.base import Probe

ANSWER = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"fine": 1}'


@contextmanager
def answering(answers: int) -> Iterator[tuple[str, list[int]]]:
    """A server that answers so many requests on each connection and closes it, unanswered, at the next.

    Gives its address and, one entry a connection, how many requests came on it.
    """
    came: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                came.append(0)
                with connection:
                    while received := connection.recv(65536):
                        if b" HTTP/1.1\r\n" not in received:
                            continue  # the body, sent apart from its head
                        came[-1] += 1
                        if came[-1] > answers:
                            break
                        connection.sendall(ANSWER)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", came
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def ask_as_control(url: str, times: int) -> list[object]:
    with ControlClient(url, timeout_s=5) as client:
        return [client.json("POST", "/x", {"a": 1}) for _ in range(times)]


def ask_as_check(url: str, times: int) -> list[object]:
    with Server(Target(base_url=url, model="m", request_timeout_s=5)) as server:
        return [server.probe(Probe("POST", "/x", {"a": 1})) for _ in range(times)]


@pytest.mark.parametrize("ask", [ask_as_control, ask_as_check])
def test_a_connection_closed_while_it_lay_idle_costs_no_answer(ask: Callable[[str, int], list[object]]) -> None:
    with answering(2) as (url, came):
        assert ask(url, 5) == [{"fine": 1}] * 5
        assert came == [3, 3, 1], "two answers, then the request that met a closed connection goes to a new one"


@pytest.mark.parametrize("ask", [ask_as_control, ask_as_check])
def test_a_server_that_answers_nothing_is_not_asked_twice(ask: Callable[[str, int], list[object]]) -> None:
    with answering(0) as (url, came):
        with pytest.raises(ClientError, match="RemoteProtocolError"):
            ask(url, 1)
        assert came == [1]


@pytest.mark.parametrize("ask", [ask_as_control, ask_as_check])
def test_a_proxy_in_the_environment_stands_aside(
    ask: Callable[[str, int], list[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with answering(1) as (url, _):
        assert ask(url, 1) == [{"fine": 1}]
