"""Every command of README and how-tos is run as it is told, in order, on one small real campaign and one server.

Only what would take minutes is made smaller (``SMALLER``), and placeholders are filled in (``FILLED``). What cannot be
run here is named with the reason (``NOT_RUN``).
"""

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

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.timeout(900)]

CAMPAIGN = """
[campaign]
name = "told"
[model]
path = "model.gguf"
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
    r"shakedown demo": "minutes; the demo's campaign file is examples/demo.toml, which test_examples checks",
    r"pip install": "the package is not on an index that a test may rely on",
    r"kubectl apply --dry-run=server": "needs a cluster; tests/unit/export holds manifests against the API's schemas",
    r"promtool": "not in the package indexes; tests/unit/export reads the rules back",
    r"shakedown mcp$": "talks a protocol; tests/unit/cli/test_mcp.py does",
    r"shakedown export \S+ --format engine": "llama.cpp reads no file; tests/unit/export does it for the other engines",
}
SMALLER = {r"--requests \d+": "--requests 4", r"--concurrency [\d,]+": "--concurrency 1,2",
           r"--output-tokens \d+": "--output-tokens 8"}  # fmt: skip
ACCEPTED = {
    "compare": (0, 4),  # two short runs on a busy machine
    "verify": (0, 4),
    "bench": (0,),
}


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    env = os.environ | {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(shakedown.__file__).parents[1]),
    }
    return subprocess.run(command, shell=True, cwd=folder, text=True, capture_output=True, check=False, env=env)


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
    (place / "told.toml").write_text(CAMPAIGN.format())
    (place / "examples").mkdir()
    (place / "examples" / "engine-ci.toml").write_text(CAMPAIGN.format().replace('"model.gguf"', '"../model.gguf"'))
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
    words = ["-m", "model.gguf", "--alias", "told", "-c", "1024", "-t", "1", "--parallel", "2", "--metrics"]
    process = subprocess.Popen(
        [sys.executable, "-m", "shakedown.launch.llama_server", *words, "--port", str(port)],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
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
    command = re.sub(r"http://127\.0\.0\.1:800\d|(?<=--base-url )(URL|…)", url, command)
    command = command.replace("/srv/campaigns/qwen", "DIR").replace("start-NAME.sh", "start-told.sh")
    command = command.replace("NAME.service", "model.service")
    for pattern, smaller in SMALLER.items():
        command = re.sub(pattern, smaller, command)
    return command


WHOLE = [(page, [one.text for one in told(page) if one.whole]) for page in PAGES]


@pytest.mark.parametrize(("page", "commands"), [(page.name, commands) for page, commands in WHOLE if commands])
def test_commands_of_a_page_run_as_told(page: str, commands: list[str], folder: Path, url: str) -> None:
    for told_command in commands:
        if any(re.match(pattern, told_command) for pattern in NOT_RUN):
            continue
        command = filled(told_command, url)
        if command.startswith("sh start-"):
            continue  # stays in the foreground; tests/live/test_exported_command.py starts it
        done = run(command, folder)
        name = command.split()[1]
        accepted = (3,) if name == "diagnose" else ACCEPTED.get(name, (0,))
        assert done.returncode in accepted, f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr


def test_reasons_not_to_run_are_still_needed() -> None:
    every = [command for _, commands in WHOLE for command in commands]
    inline = [one.text for page in PAGES for one in told(page)]
    unused = [pattern for pattern in NOT_RUN if not any(re.match(pattern, command) for command in [*every, *inline])]
    assert unused == []
