"""An engine as a process, for campaigns that shall take seconds: ``engine.py`` with llama-server's flags.

What it does follows from its arguments alone: ``--threads`` sets its speed, ``--cache-type-v`` other than f16 refuses
to start without ``--flash-attn on`` (a failure with a remedy), ``--cache-type-k`` other than f16 answers garbage, and
``--no-kv-offload`` ignores SIGTERM and forks a process into a session of its own.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from itertools import pairwise
from pathlib import Path

STREAM_PAUSE_S = {"1": 0.016, "2": 0.008, "3": 0.004}
"""Between two tokens. Far enough apart to be told apart on a busy machine."""


def main(words: list[str]) -> None:
    if "--help" in words or "--version" in words:
        print("scripted engine")
        return
    given = dict(pairwise(words))
    print("loading", flush=True)
    if given.get("--cache-type-v", "f16") != "f16" and given.get("--flash-attn") != "on":
        print("llama_init_from_model: V cache quantization requires flash_attn", flush=True)
        sys.exit(1)
    if "--no-kv-offload" in words:
        refuse_to_leave()
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.fakes.faulty_server import FaultyServer

    garbage = given.get("--cache-type-k", "f16") != "f16"
    server = FaultyServer(
        fault="exclamation" if garbage else None,
        port=int(given["--port"]),
        pause_s=STREAM_PAUSE_S[given.get("--threads", "1")],
    )
    print("listening on http", flush=True)
    server.http.serve_forever()


def refuse_to_leave() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0:
        os.setsid()
        while True:
            time.sleep(60)


if __name__ == "__main__":
    main(sys.argv[1:])
