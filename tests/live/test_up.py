"""``shakedown up`` on the real llama.cpp server: a launch line that cannot start is mended and left running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from shakedown.client.control import ControlClient
from shakedown.inspect.assets import demo_model

pytestmark = pytest.mark.live


def up(folder: Path, model: Path, *flags: str) -> tuple[int, dict[str, object]]:
    words = ["llama-server", "-m", str(model), "-t", "1", "-c", "512", *flags]
    done = subprocess.run(
        [sys.executable, "-m", "shakedown", "up", "--json", "--out", str(folder), "--", *words],
        capture_output=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


def test_a_line_that_cannot_start_is_mended_and_left_running(tmp_path: Path) -> None:
    code, said = up(tmp_path, demo_model(lambda _: None), "-ctv", "q8_0", "-fa", "off")
    pid = said["pid"]
    assert isinstance(pid, int)
    try:
        assert code == 0
        first, second = said["attempts"]  # type: ignore[misc]
        assert "quantized V cache" in first["failure"]["root_line"]
        assert second["failure"] is None
        assert "--flash-attn on" in second["command"]
        with ControlClient(str(said["base_url"])) as control:
            assert control.status("/health") == 200
    finally:
        server = psutil.Process(pid)
        os.kill(pid, signal.SIGTERM)
        server.wait(20)


def test_a_line_that_nothing_known_helps_ends_with_the_reason_and_exit_3(tmp_path: Path) -> None:
    code, said = up(tmp_path, tmp_path / "gone.gguf")
    assert code == 3
    assert said["pid"] is None
    (attempt,) = said["attempts"]  # type: ignore[misc]
    assert "gone.gguf" in str(attempt["failure"]["root_line"]), attempt
    assert said["refused"]
