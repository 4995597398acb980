"""``shakedown verify`` on a real server: what is as proven passes, each deviation is named and leaves with 4."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from tests.unit.judge.campaigns import point
from tests.unit.judge.test_compare import candidate, result
from typer.testing import CliRunner

from shakedown.cli import verify as verify_command
from shakedown.domain.events import ServerReady
from shakedown.domain.result import Winner
from shakedown.domain.verification import Verification
from shakedown.domain.workload import Workload
from shakedown.launch.port import free_port

pytestmark = pytest.mark.live

WORK = Workload(
    name="text", prompts=("text:prose",), concurrency=(1,), input_tokens=16, output_tokens=8, requests=2, repeats=3
)
app = typer.Typer()
app.command()(verify_command.command)


def call(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


def campaign(folder: Path, effective: dict[str, object], tokens_per_s: float) -> Path:
    """A campaign whose winner had these settings and this speed."""
    points = tuple(
        point(tokens_per_s=tokens_per_s * factor, repeat=repeat) for repeat, factor in enumerate((1.0, 1.01, 0.99))
    )
    won = result(
        candidate("winner", points, effective=effective),
        winner=Winner(id="winner-id", label="winner", command="", why=""),
    )
    info = won.campaign.model_copy(update={"workloads": (WORK.model_dump(mode="json"),)})
    folder.mkdir()
    (folder / "result.json").write_text(won.model_copy(update={"campaign": info}).model_dump_json())
    return folder


def test_a_setting_that_differs_is_named_and_leaves_with_4(launch, tmp_path: Path) -> None:
    server = launch({"parallel": 2, "ctx-size": 2048})
    ready = server.wait_ready()
    assert isinstance(ready, ServerReady)
    other = campaign(tmp_path / "other", {**ready.effective, "max_running_requests": 8}, 1e-3)
    deviating = call(other, "--base-url", server.base_url, "--no-load", "--quiet")
    assert deviating.exit_code == 4
    assert "max_running_requests is 2, the campaign had 8" in deviating.stdout


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_settings_gates_and_speed_are_held_against_the_campaign(launch, tmp_path: Path) -> None:
    server = launch({"parallel": 2, "ctx-size": 2048})
    ready = server.wait_ready()
    assert isinstance(ready, ServerReady)
    proven = campaign(tmp_path / "proven", dict(ready.effective), 1e-3)
    url = ("--base-url", server.base_url)

    # A speed that nothing falls short of: better is no deviation.
    done = call(proven, *url, "--json")
    assert done.exit_code == 0, done.output
    found = Verification.model_validate_json(done.stdout)
    assert found.settings_read >= 3
    assert found.comparison is not None
    assert {check.verdict for check in found.checks} <= {"pass", "skipped"}

    quiet = call(proven, *url, "--quiet", "--no-load")
    assert (quiet.exit_code, quiet.output) == (0, "")

    other = campaign(tmp_path / "other", {**ready.effective, "max_running_requests": 8}, 1e-3)
    assert call(other, *url, "--no-load", "--ignore", "max_running_requests").exit_code == 0

    faster = campaign(tmp_path / "faster", dict(ready.effective), 1e6)
    slow = call(faster, *url, "--json")
    assert slow.exit_code == 4
    assert any("is worse" in deviation for deviation in json.loads(slow.stdout)["deviations"])


def test_nobody_answering_is_exit_3(tmp_path: Path) -> None:
    proven = campaign(tmp_path / "proven", {}, 1)
    done = call(proven, "--base-url", f"http://127.0.0.1:{free_port('127.0.0.1')}")
    assert done.exit_code == 3
    assert "nobody answers" in done.stderr
