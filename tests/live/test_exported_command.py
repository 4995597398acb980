"""What is exported really starts: the script as it is, and the words of the unit's ExecStart."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.unit.report.sample_results import demo_result

from shakedown.domain.candidate import Candidate, EngineRef, ModelRef
from shakedown.domain.result import CampaignResult
from shakedown.domain.words import EngineKind
from shakedown.engines.registry import engine_for
from shakedown.export.registry import export

pytestmark = pytest.mark.live


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def won_on(model_file: str, port: int) -> CampaignResult:
    """The demo's result, its winner started by this interpreter."""
    candidate = Candidate(
        engine=EngineRef(kind=EngineKind.LLAMA_CPP, python=sys.executable),
        model=ModelRef(path=model_file, name="demo"),
        args={"ctx-size": 512, "threads": 1},
        env={"GREETING": "it's 100% $HOME"},
    )
    command = engine_for(EngineKind.LLAMA_CPP).command_line(candidate, port=port)
    base = demo_result()
    assert base.winner is not None
    return base.model_copy(update={"winner": base.winner.model_copy(update={"command": command})})


@contextmanager
def running(argv: list[str], port: int) -> Iterator[str]:
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ.copy())
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(600):
            assert process.poll() is None, "the server ended by itself"
            try:
                if httpx.get(f"{url}/health", timeout=5, trust_env=False).status_code == 200:
                    break
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)


def answers(url: str) -> bool:
    body = {"model": "demo", "prompt": "The capital of France is", "max_tokens": 4}
    answer = httpx.post(f"{url}/v1/completions", json=body, timeout=60, trust_env=False)
    return answer.status_code == 200 and bool(answer.json()["choices"][0]["text"])


def test_exported_script_starts_a_server_that_answers(model_file: str, port: int, tmp_path: Path) -> None:
    [(name, text)] = export(won_on(model_file, port), "command").items()
    script = tmp_path / name
    script.write_text(text)
    with running(["/bin/sh", str(script)], port) as url:
        assert answers(url)


def test_words_of_the_exported_unit_start_a_server_that_answers(model_file: str, port: int) -> None:
    files = export(won_on(model_file, port), "systemd")
    unit = next(text for name, text in files.items() if name.endswith(".service"))
    line = re.search(r"^ExecStart=((?:.*\\\n)*.*)$", unit, re.MULTILINE)
    assert line is not None
    with running(line.group(1).replace("\\\n", " ").split(), port) as url:
        assert answers(url)
