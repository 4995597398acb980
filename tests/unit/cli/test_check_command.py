import json
import os
import signal
import subprocess
import sys
import time

import pytest
import typer
from tests.fakes.faulty_server import FaultyServer
from typer.testing import CliRunner

from shakedown.cli.check import command
from shakedown.domain.errors import UserError

app = typer.Typer()
app.command()(command)


def run(*arguments):
    return CliRunner().invoke(app, list(arguments), catch_exceptions=True)


def test_a_good_server_passes_and_the_json_has_the_promised_keys(tmp_path):
    file = tmp_path / "r.json"
    with FaultyServer(slots=4) as server:
        first = run("--base-url", server.url + "/v1/", "--context-tokens", "128", "--write-reference", str(file))
        again = run("--base-url", server.url, "--context-tokens", "128", "--reference", str(file), "--json")
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert file.exists()
    told = json.loads(again.stdout)
    assert told["schema"] == "shakedown/1"
    assert told["verdict"] == "pass"
    assert all({"name", "verdict", "evidence", "seconds", "summary"} <= check.keys() for check in told["checks"])
    drift = next(check for check in told["checks"] if check["name"] == "drift_from_reference")
    assert drift["verdict"] == "pass"


def test_a_faulty_server_fails_with_exit_code_3_and_still_prints_json():
    with FaultyServer(fault="exclamation") as server:
        told = run("--base-url", server.url, "--model", "toy", "--json")
    assert told.exit_code == 3
    checks = json.loads(told.stdout)["checks"]
    assert (checks[-1]["name"], checks[-1]["verdict"]) == ("token_runs", "fail")


def test_without_json_standard_output_stays_empty():
    with FaultyServer(fault="exclamation") as server:
        told = run("--base-url", server.url)
    assert told.stdout == ""
    assert "token_runs" in told.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--base-url", "http://127.0.0.1:1"], "no server answers"),
        (["--base-url", "127.0.0.1:8000"], "scheme"),
        (["--base-url", "http://x", "--reference", "a", "--write-reference", "b"], "exclude each other"),
        (["--base-url", "http://x", "--max-kl", "0"], "above 0"),
    ],
)
def test_what_the_user_got_wrong_is_told_with_exit_code_2(arguments, message):
    told = run(*arguments)
    assert isinstance(told.exception, UserError)
    assert told.exception.exit_code == 2
    assert message in str(told.exception)


def test_an_interrupt_ends_at_once_though_the_server_hangs():
    # A shell's background job starts with SIGINT ignored, and Python then leaves it so.
    code = (
        "import signal, typer; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from shakedown.cli.check import command; app = typer.Typer(); app.command()(command); app()"
    )
    with FaultyServer(slots=4) as server:
        for _ in range(4):
            server.free.acquire()  # every slot is taken: each request hangs
        process = subprocess.Popen(
            [sys.executable, "-c", code, "--base-url", server.url], env=os.environ, stderr=subprocess.PIPE, text=True
        )
        assert "toy" in process.stderr.readline()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(timeout=20) == 130
        finally:
            process.kill()
            process.communicate()
