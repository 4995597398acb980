from pathlib import Path

import pytest

from shakedown.domain.errors import UserError
from shakedown.domain.words import EngineKind
from shakedown.inspect.launch_source import read_launch_line

UNIT = """\
[Unit]
Description=SGLang

[Service]
Environment="CUDA_HOME=/usr/local/cuda" NCCL_P2P_LEVEL=SYS
Environment=OMP_NUM_THREADS=16
ExecStart=/opt/ml/bin/python3 -m sglang.launch_server \\
    --model-path /data/q --tp-size 8
Restart=always
"""
COMPOSE = """\
services:
  proxy:
    image: nginx
  server:
    image: vllm/vllm-openai:v0.26.0
    environment:
      - VLLM_LOGGING_LEVEL=INFO
    command: --model /data/q --tensor-parallel-size 2
"""


def test_a_systemd_unit(tmp_path: Path) -> None:
    path = tmp_path / "sglang.service"
    path.write_text(UNIT)
    line = read_launch_line(str(path))
    assert (line.kind, line.model, line.args) == (EngineKind.SGLANG, "/data/q", {"tp-size": 8})
    assert line.env == {"CUDA_HOME": "/usr/local/cuda", "NCCL_P2P_LEVEL": "SYS", "OMP_NUM_THREADS": "16"}


def test_a_compose_file(tmp_path: Path) -> None:
    path = tmp_path / "compose.yaml"
    path.write_text(COMPOSE)
    line = read_launch_line(str(path))
    assert (line.kind, line.model, line.args) == (EngineKind.VLLM, "/data/q", {"tensor-parallel-size": 2})
    assert line.env == {"VLLM_LOGGING_LEVEL": "INFO"}


def test_a_compose_file_with_lists_and_a_mapping(tmp_path: Path) -> None:
    path = tmp_path / "compose.yml"
    path.write_text(
        "services:\n  s:\n    image: lmsysorg/sglang\n    entrypoint: [python3, -m, sglang.launch_server]\n"
        "    command: [--model-path, /m, --tp, '4']\n    environment: {A: 1}\n"
    )
    line = read_launch_line(str(path))
    assert (line.python, line.args, line.env) == ("python3", {"tp": 4}, {"A": "1"})


def test_a_script_and_a_line(tmp_path: Path) -> None:
    path = tmp_path / "start.sh"
    path.write_text("#!/bin/sh\n# the server\nvllm serve /m --max-num-seqs 64\n")
    assert read_launch_line(str(path)).args == {"max-num-seqs": 64}
    assert read_launch_line("llama-server -m a.gguf").model == "a.gguf"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.service", "[Service]\nUser=x\n", "no ExecStart"),
        ("a.yaml", "services: {web: {image: nginx}}\n", "no service in this compose file"),
        ("a.yml", "a: [", "not YAML"),
        ("b.yml", "just text", "no service in this compose file"),
    ],
)
def test_files_without_a_launch_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=message):
        read_launch_line(str(tmp_path / name))
