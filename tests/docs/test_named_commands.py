"""Every command and flag that README and how-tos name exists. Running them: test_told_commands (slow)."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from tests.docs.doc_commands import PAGES, ROOT, Told, told

from shakedown.cli.main import COMMANDS, app

SHAKEDOWN = [one for page in PAGES for one in told(page) if one.text.startswith("shakedown ")]


def test_commands_were_found() -> None:
    assert len({one.page for one in SHAKEDOWN}) >= 6
    assert {one.text.split()[1] for one in SHAKEDOWN} >= {
        "demo",
        "run",
        "bench",
        "check",
        "report",
        "export",
        "compare",
    }


@pytest.mark.parametrize("one", SHAKEDOWN, ids=str)
def test_command_and_flags_exist(one: Told) -> None:
    words = shlex.split(one.text.replace("…", "").replace("[", "").replace("]", ""))
    name = words[1]
    if name.startswith("--"):
        assert name in {"--help", "--version", "--install-completion"}
        return
    assert name in COMMANDS
    group = typer.main.get_command(app)
    command = group.get_command(None, name)  # type: ignore[attr-defined, arg-type]
    flags = {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
    given = words[2 : words.index("--")] if "--" in words else words[2:]
    assert {word.split("=")[0] for word in given if word.startswith("--")} <= flags


def test_readme_lists_every_command() -> None:
    named = {one.text.split()[1] for one in SHAKEDOWN if one.page == "README.md"}
    assert named >= set(COMMANDS) - {"trial", "export", "schema"}


def test_the_workflow_of_the_how_to_is_a_workflow(tmp_path: Path) -> None:
    checker = shutil.which("check-jsonschema", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if checker is None:
        pytest.skip("check-jsonschema is not installed (extra 'dev' brings it)")
    page = (ROOT / "docs" / "how-to-compare.md").read_text()
    (tmp_path / "workflow.yaml").write_text(re.findall(r"^```yaml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[0])
    done = subprocess.run(
        [checker, "--builtin-schema", "vendor.github-workflows", str(tmp_path / "workflow.yaml")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
