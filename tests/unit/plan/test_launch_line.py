import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.domain.argv import argparse_words
from shakedown.domain.errors import UserError
from shakedown.domain.words import EngineKind
from shakedown.plan.launch_line import parse_launch_line


def test_sglang_with_environment_and_continuations() -> None:
    line = parse_launch_line(
        "CUDA_HOME=/usr/local/cuda OMP_NUM_THREADS=16 exec /opt/ml/bin/python3 -m sglang.launch_server \\\n"
        "  --model-path /data/q --tp 8 --trust-remote-code --mem-fraction-static=0.85 --host 0.0.0.0 --port 30000"
    )
    assert (line.kind, line.python, line.command) == (EngineKind.SGLANG, "/opt/ml/bin/python3", None)
    assert line.model == "/data/q"
    assert line.args == {"tp": 8, "trust-remote-code": True, "mem-fraction-static": 0.85}
    assert line.env == {"CUDA_HOME": "/usr/local/cuda", "OMP_NUM_THREADS": "16"}


def test_vllm_takes_its_model_as_a_word() -> None:
    line = parse_launch_line("vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2 --served-model-name q --lora a b")
    assert (line.kind, line.command) == (EngineKind.VLLM, ("vllm", "serve"))
    assert (line.model, line.name) == ("Qwen/Qwen3-8B", "q")
    assert line.args == {"tensor-parallel-size": 2, "lora": ["a", "b"]}


def test_llama_server_on_the_path_needs_no_command() -> None:
    line = parse_launch_line("llama-server -m /m.gguf -c 4096 -ctk q8_0 -fa on --alias m")
    assert (line.kind, line.command, line.python) == (EngineKind.LLAMA_CPP, None, None)
    assert line.args == {"c": 4096, "ctk": "q8_0", "fa": "on"}
    assert line.name == "m"


def test_a_wrapper_is_kept_as_it_is() -> None:
    line = parse_launch_line(
        "docker run --gpus all -v /m:/m vllm/vllm-openai:v0.26.0 --model /m/q --max-model-len 8192"
    )
    assert line.kind is EngineKind.VLLM
    assert line.command is not None
    assert line.command[:2] == ("docker", "run")
    assert line.command[-1] == "vllm/vllm-openai:v0.26.0"
    assert line.args == {"max-model-len": 8192}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("python train.py", "no engine recognised"),
        ("vllm serve --tp 8 'unclosed", "not a shell line"),
        ("python3 -m sglang.launch_server --tp 8", "names no model"),
        ("", "no engine recognised"),
    ],
)
def test_what_is_no_launch_line_is_said(line: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_launch_line(line)


names = st.from_regex(r"[a-z]{2,6}(-[a-z]{1,6})?", fullmatch=True).filter(
    lambda name: name not in {"model", "host", "port", "alias", "model-path"}
)
values = st.just(True) | st.integers(0, 9999) | st.from_regex(r"[a-z][a-z0-9_/.]{0,8}", fullmatch=True)


@given(st.dictionaries(names, values, max_size=5))
def test_arguments_survive_the_way_there_and_back(args: dict[str, bool | int | str]) -> None:
    words = " ".join(word for name, value in args.items() for word in argparse_words(name, value))
    assert parse_launch_line(f"python3 -m sglang.launch_server --model-path /m {words}").args == args
