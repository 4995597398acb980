import gzip
import json
from pathlib import Path

import pytest
import typer
from tests.logs.generator import HERE
from typer.testing import CliRunner, Result

from shakedown.cli.diagnose import command
from shakedown.domain.errors import UserError

app = typer.Typer()
app.command()(command)
V_CACHE = str(HERE / "real" / "llama.cpp-xllamacpp-quantized-v-cache.log")
HEALTHY = str(HERE / "real" / "llama.cpp-xllamacpp-healthy.log")


def run(*args: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, list(args), input=stdin)


def test_a_root_is_exit_0_and_the_text_names_the_remedy() -> None:
    result = run(V_CACHE)
    assert result.exit_code == 0
    assert "set --flash-attn on" in result.stdout


def test_json_has_the_documented_keys() -> None:
    result = run(V_CACHE, "--json", "--engine", "llama.cpp")
    document = json.loads(result.stdout)
    assert {"engine", "stage", "failed", "root", "symptoms", "warnings", "tail"} <= set(document)
    root = document["root"]
    assert {"category", "signature", "line_number", "line", "captures", "title", "cause", "remedy", "sources"} <= set(
        root
    )
    assert (root["category"], root["line_number"]) == ("quantization", 7)
    assert root["remedy"]["set_args"] == {"flash-attn": "on"}


def test_no_root_is_exit_3_whether_it_failed_or_not() -> None:
    healthy = run(HEALTHY, "--json")
    assert healthy.exit_code == 3
    assert json.loads(healthy.stdout)["failed"] is False
    unclassified = run("-", "--json", stdin=b"RuntimeError: Executor worker returned error\n")
    assert unclassified.exit_code == 3
    assert json.loads(unclassified.stdout)["failed"] is True


def test_a_compressed_log_is_read_whatever_its_name(tmp_path: Path) -> None:
    packed = gzip.compress(Path(V_CACHE).read_bytes())
    rotated = tmp_path / "server.log.1"
    rotated.write_bytes(packed)
    assert run(str(rotated)).stdout == run(V_CACHE).stdout
    rotated.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(UserError, match="zcat"):
        CliRunner().invoke(app, [str(rotated)], catch_exceptions=False)


def test_standard_input_is_read(tmp_path: Path) -> None:
    text = Path(V_CACHE).read_bytes()
    assert run("-", stdin=text).stdout == run(V_CACHE).stdout


def test_a_file_without_a_last_newline_and_with_a_huge_line_is_read(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with log.open("wb") as stream:
        stream.write(b"0123456789 abcdef" * 200_000 + b"\n")
        stream.write(b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB")
    document = json.loads(run(str(log), "--json").stdout)
    assert document["root"]["line_number"] == 2


def test_a_signature_is_explained() -> None:
    result = run("--explain", "vllm-gpu-busy")
    assert result.exit_code == 0
    assert result.stdout.startswith("# vllm-gpu-busy")


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        ((), "name a log file"),
        (("no/such.log",), "no/such.log: No such file"),
        (("--explain", "vllm-gpu-bus"), "did you mean 'vllm-gpu-busy'"),
    ],
)
def test_bad_input_is_one_clear_error(args: tuple[str, ...], complaint: str) -> None:
    result = run(*args)
    assert isinstance(result.exception, UserError)
    assert complaint in str(result.exception)
