import asyncio
import json
from pathlib import Path

import pytest
import typer
from tests.fakes.scripted_server import Request, ScriptedServer, plain_stream
from typer.testing import CliRunner

from shakedown.cli.bench import command
from shakedown.cli.bench_options import parse_levels, parse_percent, parse_search, parse_seconds, parse_slo
from shakedown.domain.errors import UserError
from shakedown.load.records import read_parquet

app = typer.Typer()
app.command()(command)


async def openai_server(request: Request, writer: asyncio.StreamWriter) -> bool | None:
    if request.path.endswith("/completions"):
        return await plain_stream(4, pause_s=0.001)(request, writer)
    body = b"{}"
    if request.path == "/v1/models":
        body = json.dumps({"object": "list", "data": [{"id": "first-model", "owned_by": "somebody"}]}).encode()
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    return None


def test_a_sweep_as_json_with_files(tmp_path: Path) -> None:
    with ScriptedServer(openai_server) as server:
        arguments = ["--base-url", server.url, "--concurrency", "1,3", "--requests", "6", "--output-tokens", "4"]
        result = CliRunner().invoke(app, [*arguments, "--json", "--out", str(tmp_path), "--slo", "ttft_p99=5s"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["schema"] == "shakedown/1"
    assert document["server"]["model"] == "first-model"
    assert document["server"]["input_lengths"] == "estimate"
    assert [(point["concurrency"], point["requests"], point["ok"]) for point in document["points"]] == [
        (1, 6, 6),
        (3, 6, 6),
    ]
    assert all(point["output_tokens"] == 24 for point in document["points"])
    assert all(point["goodput_requests_per_s"] > 0 for point in document["points"])
    assert "Agg tok/s" in result.stderr
    assert json.loads((tmp_path / "result.json").read_text()) == document
    assert len(read_parquet(tmp_path / "bench-c3-0.parquet")) == 6
    assert (tmp_path / "curve.svg").read_text().startswith("<svg")


def test_a_search_says_what_it_found() -> None:
    with ScriptedServer(openai_server) as server:
        arguments = ["--base-url", server.url, "--search", "concurrency", "--slo", "ttft_p50=30s", "--requests", "20"]
        result = CliRunner().invoke(app, [*arguments, "--search-limit", "2", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["search"]["highest"] == 2
    assert "highest load that keeps the objectives" in result.stderr


def test_nobody_answers_is_three() -> None:
    result = CliRunner().invoke(app, ["--base-url", "http://127.0.0.1:9"])
    assert result.exit_code == 3
    assert "nobody answers" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--base-url", "ftp://host"], "expected http://HOST:PORT"),
        (["--base-url", "http://127.0.0.1:9", "--concurrency", "0"], "--concurrency '0'"),
        (["--base-url", "http://127.0.0.1:9", "--concurrency", "1", "--request-rate", "2"], "give one of them"),
        (["--base-url", "http://127.0.0.1:9", "--slo", "ttft=2s"], "--slo"),
        (["--base-url", "http://127.0.0.1:9", "--endpoint", "embeddings"], "--endpoint"),
        (["--base-url", "http://127.0.0.1:9", "--ramp-to", "5"], "--ramp-to"),
        (["--base-url", "http://127.0.0.1:9", "--extra-body", "[1]"], "--extra-body"),
        (["--base-url", "http://127.0.0.1:9", "--header", "nocolon"], "--header"),
    ],
)
def test_bad_arguments_are_named(arguments: list[str], says: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, UserError)
    assert says in str(result.exception)


def test_options_have_their_meaning() -> None:
    assert parse_seconds("--x", "50ms") == pytest.approx(0.05)
    assert parse_seconds("--x", "2m") == 120
    assert parse_seconds("--x", "1.5") == 1.5
    assert parse_slo("ttft_p99=2s, tpot_p99=50ms") == {"ttft_p99": 2.0, "tpot_p99": pytest.approx(0.05)}
    assert parse_levels(None, "1,2.5,inf", by_trace=False) == ((), (1.0, 2.5, float("inf")))
    assert parse_levels("1, 4", None, by_trace=False) == ((1, 4), ())
    assert parse_levels(None, None, by_trace=True) == ((), ())
    assert parse_percent("--x", "2%") == pytest.approx(0.02)
    assert parse_search("request-rate", {"ttft_p99": 1.0}) == "request_rate"
    for wrong in ("0s", "-1s", "fast", ""):
        with pytest.raises(UserError, match="--x"):
            parse_seconds("--x", wrong)
    with pytest.raises(UserError, match="needs the limits"):
        parse_search("concurrency", {})
    with pytest.raises(UserError, match="percentile"):
        parse_search("concurrency", {"ttft_mean": 1.0})
