"""Every command of README and how-tos is run as it is told, in order, on one small real campaign and one server.

Only what would take minutes is made smaller (``SMALLER``), and placeholders are filled in (``FILLED``). What cannot be
run here is named with the reason (``NOT_RUN``).
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.doc_commands import PAGES, ROOT, told

import shakedown
from shakedown.client.control import ControlClient
from shakedown.domain.errors import ClientError
from shakedown.inspect.assets import demo_model
from shakedown.launch.port import free_port

pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("told"),
]

CAMPAIGN = """
[campaign]
name = "told"
[model]
path = "{model}"
name = "told"
[engine]
kind = "llama.cpp"
args = {{ ctx-size = 1024, threads = 1, parallel = 2 }}
[[workload]]
name = "w"
input_tokens = 16
output_tokens = 8
concurrency = [1, 2]
requests = 4
[gates]
level = "quick"
[decide]
launches = 1
repeats = 2
margin = 0.9
"""

NOT_RUN = {
    r"make (demo|test)": "the whole of the demo, and this suite itself",
    r"shakedown demo": "minutes; `run` takes the same way with a smaller campaign file",
    r"pip install": "the package is not on an index that a test may rely on",
    r"kubectl apply --dry-run=server": "needs a cluster; tests/unit/export holds manifests against the API's schemas",
    r"promtool": "not in the package indexes; tests/unit/export reads the rules back",
    r"sh start-": "stays in the foreground; tests/live/test_exported_command.py starts it",
    r"shakedown report \S+ --mlflow": "needs MLflow; tests/unit/report/test_mlflow.py does it",
    r"shakedown mcp": "talks a protocol; tests/unit/cli/test_mcp.py does",
    r"shakedown up": "leaves a server running; tests/live/test_up.py stops it again",
    r"shakedown export \S+ --format engine": "llama.cpp reads no file; tests/unit/export does it for the other engines",
}
SMALLER = {
    r"--requests \d+": "--requests 4",
    r"--level standard": "--level quick",
    r"--concurrency [\d,]+": "--concurrency 1,2",
    r"(shakedown bench .*)": r"\1 --input-tokens 16 --output-tokens 8 --requests 4",
    r"run campaign\.toml": "run told.toml",
}
FILLED = {
    r"http://127\.0\.0\.1:800\d|(?<=--base-url )(?:URL|…)": "{url}",
    r"/srv/campaigns/qwen": "DIR",
    r"NAME\.service": "told.service",
    r"[\[\]]": "",
    r"\bMODEL\b": "model.gguf",
    r"--engine E\b": "--engine llama.cpp",
    r"init model.gguf --engine llama.cpp": "init model.gguf --engine llama.cpp --out fresh.toml",
    r"\bFILE\b": "told.toml",
    r"\bLOG\b": "server.log",
    r"run --out": "run told.toml --out",
    r"compare A B": "compare before after",
    r"schema COMMAND": "schema bench",
}
"""Placeholders of the pages, and what stands for them here."""
ACCEPTED = {
    "compare": (0, 4),  # short runs on a machine that may do other things
    "verify": (0, 4),
    "diagnose": (0, 3),  # the log of a healthy server has no root cause
}


def environment(folder: Path) -> dict[str, str]:
    """With this checkout's commands first on the PATH."""
    path = f"{(folder / 'bin').resolve()}:{os.environ['PATH']}"
    return os.environ | {"PATH": path, "PYTHONPATH": str(Path(shakedown.__file__).parents[1])}


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, shell=True, cwd=folder, text=True, capture_output=True, check=False, env=environment(folder)
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place with the model, campaign files, results and logs that the pages speak of."""
    pytest.importorskip("xllamacpp")
    place = tmp_path_factory.mktemp("told")
    (place / "bin").mkdir()
    (place / "bin" / "shakedown").write_text(f'#!/bin/sh\nexec {sys.executable} -m shakedown "$@"\n')
    (place / "bin" / "llama-server").write_text(
        f'#!/bin/sh\nexec {sys.executable} -m shakedown.launch.llama_server "$@"\n'
    )
    for program in (place / "bin").iterdir():
        program.chmod(0o755)
    (place / "model.gguf").symlink_to(demo_model(lambda _: None))
    campaign = CAMPAIGN.format(model=demo_model(lambda _: None))
    (place / "told.toml").write_text(campaign)
    (place / "examples").mkdir()
    (place / "examples" / "engine-ci.toml").write_text(campaign)
    done = run("shakedown run told.toml --out DIR", place)
    assert done.returncode == 0, done.stderr
    for copy in ("before", "after", "demo-result", "expected"):
        shutil.copytree(place / "DIR", place / copy)
    (place / "expected.json").write_text(run("shakedown report DIR --json", place).stdout)
    for name in ("vllm-result", "vllm-before", "vllm-after"):
        shutil.copy(ROOT / "tests" / "unit" / "interchange" / "data" / "vllm.json", place / f"{name}.json")
    shutil.copy(next((place / "DIR" / "trials").glob("*/server.log")), place / "server.log")
    run("shakedown export DIR --format command --out . && shakedown export DIR --format systemd --out .", place)
    return place


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    """A server of the demo's model, as the campaign's winner runs it."""
    port = free_port("127.0.0.1")
    words = ["-m", "model.gguf", "--alias", "told", "-c", "4096", "-t", "1", "--parallel", "2", "--metrics"]
    process = subprocess.Popen(
        [sys.executable, "-m", "shakedown.launch.llama_server", *words, "--port", str(port)],
        cwd=folder, env=environment(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        with ControlClient(address) as client:
            while client.status("/health") != 200:
                assert process.poll() is None, "the server ended by itself"
        yield address
    except ClientError:
        process.kill()
        raise
    finally:
        process.terminate()
        process.wait(30)


def filled(command: str, url: str) -> str:
    for pattern, stands in {**FILLED, **SMALLER}.items():
        command = re.sub(pattern, stands.format(url=url) if "{" in stands else stands, command)
    return command


def spelled_out(page: Path) -> list[str]:
    """Commands of a page but for those that are only named, without anything behind the name."""
    return [one.text for one in told(page) if one.whole or len(one.text.split()) > 2]


TOLD = [(page, spelled_out(page)) for page in PAGES]


@pytest.mark.parametrize(("page", "commands"), [(page.name, commands) for page, commands in TOLD if commands])
def test_commands_of_a_page_run_as_told(page: str, commands: list[str], folder: Path, url: str, tmp_path: Path) -> None:
    here = tmp_path / "here"
    shutil.copytree(folder, here, symlinks=True, ignore=shutil.ignore_patterns("bin"))
    (here / "bin").symlink_to(folder / "bin")  # one and the same engine, or its campaign would be another
    for command in (filled(one, url) for one in commands if not any(re.match(pattern, one) for pattern in NOT_RUN)):
        done = run(command, here)
        accepted = ACCEPTED.get(command.split()[1], (0,))
        assert done.returncode in accepted, f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "plan told.toml",
        "run told.toml --out DIR",
        "report DIR",
        "export DIR --format kubernetes",
        "compare before after",
        "inspect model.gguf --engine llama.cpp",
        "bench --base-url {url} --input-tokens 16 --output-tokens 8 --requests 4 --concurrency 1,2 --slo ttft_p99=2s",
        "check --base-url {url}",
        "verify --base-url {url} DIR",
    ],
)
def test_documents_of_real_runs_hold_to_the_published_schemas(command: str, folder: Path, url: str) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed (extra 'dev')")
    done = run(f"shakedown {command.format(url=url)} --json", folder)
    name, _, _ = command.partition(" ")
    assert done.returncode in ACCEPTED.get(name, (0,)), done.stderr
    schema = json.loads((ROOT / "docs" / "schema" / f"{name.replace('run', 'report')}.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(json.loads(done.stdout))


def test_reasons_not_to_run_are_still_needed() -> None:
    every = [command for _, commands in TOLD for command in commands]
    assert [pattern for pattern in NOT_RUN if not any(re.match(pattern, command) for command in every)] == []
