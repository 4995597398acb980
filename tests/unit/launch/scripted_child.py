"""A server that misbehaves as it is told: ``scripted_child.py PORT MODE...``. Standard library only, to start fast."""

import http.server
import json
import os
import signal
import socket
import sys
import threading
import time

port, modes = int(sys.argv[1]), set(sys.argv[2:])


def say(text: str, end: str = "\n") -> None:
    sys.stdout.write(text + end)
    sys.stdout.flush()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status: int, body: dict) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        healthy = "never-healthy" not in modes
        self.answer(200 if healthy else 503, {"said": "so", "authorization": self.headers.get("Authorization")})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if "unable" in modes:
            self.answer(500, {"error": "no kernel for this device"})
            return
        self.answer(200, {"choices": [{"text": "!"}]})
        if "dies-after-ready" in modes:
            say("RuntimeError: the device is lost")
            os._exit(7)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the standard library
        say(f"access {format % args}")


if "ignores-term" in modes:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "double-fork" in modes and os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(300)
    os._exit(0)
if "worker-speaks-last" in modes and os.fork() == 0:
    time.sleep(0.3)
    say("ValueError: the worker says why")
    os._exit(1)
if "worker-speaks-last" in modes:
    os._exit(1)
say("loading")
if "silent" in modes:
    time.sleep(300)
if "busy" in modes:
    while True:
        pass
if "exits" in modes:
    say("ValueError: bad quantization")
    sys.exit(3)
if "flood" in modes:
    threading.Thread(target=lambda: [say("x" * 1000) for _ in range(200_000)], daemon=True).start()
if "endless-line" in modes:
    say("\rprogress \x00\xff" * 20_000, end="")
if "progress-bar" in modes:
    for step in range(15):
        say(f"\r{step}/15", end="")
        time.sleep(0.1)
    say("")
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler, bind_and_activate=False)
server.allow_reuse_address = True
server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.server_bind()
server.server_activate()
say("listening")
server.serve_forever()
