"""Builds and runs the truth server; shared by the benchmarks of this folder."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent


def build() -> Path:
    """Compile the server; the compiler is the only thing that is needed beyond Python."""
    binary = Path(tempfile.mkdtemp(prefix="shakedown-truth-")) / "truth_server"
    subprocess.run(["cc", "-O2", "-Wall", "-o", str(binary), str(HERE / "truth_server.c")], check=True)
    return binary


@contextlib.contextmanager
def truth_server(
    *, ttft_ms: float, itl_ms: float, tokens: int, tokens_per_write: int = 1, core: int | None = None
) -> Iterator[str]:
    """Run the server on a free port and give its base URL; ``core`` pins it."""
    options = {"ttft-ms": ttft_ms, "itl-ms": itl_ms, "tokens": tokens, "tokens-per-write": tokens_per_write}
    command = [str(build()), *(word for name, value in options.items() for word in (f"--{name}", str(value)))]
    pin = [] if core is None else ["taskset", "-c", str(core)]
    with subprocess.Popen([*pin, *command], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().split()[1]}"
        finally:
            process.kill()


def truth(url: str) -> dict[str, dict[str, float]]:
    """What the server says it did."""
    with urllib.request.urlopen(f"{url}/truth") as answer:
        return json.load(answer)


def forget(url: str) -> None:
    """Make the server forget what it did."""
    urllib.request.urlopen(f"{url}/truth/reset").close()
