"""An engine as a process of its own, light enough for many at once: ``python -m tests.fakes.engine_process``.

It answers as the toy model does and takes llama-server's flags, of which it knows ``--host``, ``--port`` and:
``--threads N`` (a token takes 4 ms / N), ``--boot-seconds S``, ``--die-after S``. On a host whose environment has
``TOY_SLOWNESS``, tokens take so many times as long.

With vLLM's ``--nnodes``, ``--node-rank``, ``--master-addr`` and ``--master-port`` it spans hosts: the leader serves
once all ranks have come, and dies when one goes. ``--follower-dies-after S`` kills the followers.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
from http.server import ThreadingHTTPServer

from tests.fakes import faulty_server
from tests.fakes.faulty_server import FaultyServer


def flags(words: list[str]) -> dict[str, str]:
    pairs = zip(words, [*words[1:], "--"], strict=True)
    return {word.removeprefix("--"): value for word, value in pairs if word.startswith("--")}


def serve(given: dict[str, str]) -> None:
    server = FaultyServer()
    server.http.server_close()
    pace_s = 0.004 / int(given.get("threads", "1")) * float(os.environ.get("TOY_SLOWNESS", "1"))
    plain = faulty_server._handler(server)

    class Handler(plain):
        def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
            if self.path == "/health":
                self.reply({"status": "ok"})
            else:
                super().do_GET()

        def event(self, *what: object) -> None:
            super().event(*what)
            time.sleep(pace_s)

    server.http = ThreadingHTTPServer((given["host"], int(given["port"])), Handler)
    server.http.daemon_threads = True
    print(f"listening on http://{given['host']}:{given['port']}", flush=True)
    server.http.serve_forever()


def gather(given: dict[str, str]) -> None:
    """Wait for the other ranks; whichever leaves takes this one along, with an error that is not the cause."""
    listener = socket.create_server((given["master-addr"], int(given["master-port"])))

    def watch(rank: socket.socket) -> None:
        rank.recv(1)
        print("RuntimeError: NCCL communicator was aborted: Connection closed by remote peer", flush=True)
        os._exit(1)

    for _ in range(int(given["nnodes"]) - 1):
        rank, address = listener.accept()
        print(f"a rank has come from {address[0]}", flush=True)
        threading.Thread(target=watch, args=(rank,), daemon=True).start()


def follow(given: dict[str, str]) -> None:
    """Come to the leader and stay until it goes, or until told to die."""
    while True:
        with contextlib.suppress(OSError):
            leader = socket.create_connection((given["master-addr"], int(given["master-port"])), 1)
            break
        time.sleep(0.1)
    leader.settimeout(float(given["follower-dies-after"]) if "follower-dies-after" in given else None)
    with contextlib.suppress(TimeoutError):
        leader.recv(1)
        sys.exit(0)
    print("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", flush=True)
    os._exit(3)


def die() -> None:
    print("error: CUDA error: an illegal memory access was encountered", flush=True)
    os._exit(3)


def main() -> None:
    words = sys.argv[1:]
    if "--version" in words:
        print("version: 1 (toy)")
        return
    if any(word.startswith("--help") for word in words):
        print("usage: toy")
        return
    given = flags(words)
    print("srv          init: init", sys.argv, os.environ.get("HF_TOKEN"), flush=True)
    time.sleep(float(given.get("boot-seconds", "0")))
    if int(given.get("node-rank", "0")):
        follow(given)
    if int(given.get("nnodes", "1")) > 1:
        gather(given)
    if "die-after" in given:
        threading.Timer(float(given["die-after"]), die).start()
    serve(given)


if __name__ == "__main__":
    main()
