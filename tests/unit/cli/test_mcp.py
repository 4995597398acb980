"""The MCP server as an agent meets it: a process, spoken to by the SDK's own client over its pipes."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.report.sample_results import demo_result

import shakedown

mcp = pytest.importorskip("mcp", reason="the MCP SDK is not installed (extra 'mcp')")

LOG = """llama_model_load: loading model
llama_init_from_model: quantized V cache requires flash_attn to be enabled
srv load_model: failed to load model
"""


def talk(conversation: Callable[[Any], Awaitable[None]], folder: Path) -> None:
    """Start the server, hold a conversation, let it end."""

    async def whole() -> None:
        # The SDK gives a server next to nothing of the environment.
        env = os.environ | {"PYTHONPATH": str(Path(shakedown.__file__).parents[1])}
        words = ["-m", "shakedown", "mcp"]
        server = mcp.StdioServerParameters(command=sys.executable, args=words, cwd=str(folder), env=env)
        async with mcp.Client(server) as client:
            await conversation(client)

    asyncio.run(whole())


async def call(client: Any, tool: str, **arguments: object) -> Any:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content[0].text
    return json.loads(answer.content[0].text) if tool != "report" else answer.content[0].text


async def refusal(client: Any, tool: str, **arguments: object) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return str(answer.content[0].text)


def test_an_agent_finds_the_tools_and_uses_them(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(demo_result().model_dump_json())
    (tmp_path / "server.log").write_text(LOG)

    async def conversation(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {
            "inspect", "plan", "start_run", "run_progress", "stop_run", "diagnose", "report", "compare", "export",
        }  # fmt: skip
        assert all(tool.description for tool in tools.values())
        found = await call(client, "diagnose", log_file="server.log", engine="llama.cpp")
        assert "quantized V cache" in found["root"]["line"]
        assert "## Candidates" in await call(client, "report", folder=".")
        progress = await call(client, "run_progress", folder=".")
        assert (progress["running"], progress["finished"]) == (False, True)
        assert "give log_file or log_text" in await refusal(client, "diagnose")
        assert "No such file" in await refusal(client, "start_run", campaign_file="gone.toml", folder="out")
        assert not (tmp_path / "out").exists()

    talk(conversation, tmp_path)


@pytest.mark.slow
def test_the_other_tools_answer_as_their_commands_do(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(demo_result().model_dump_json())
    (tmp_path / "c.toml").write_text(CAMPAIGN)

    async def conversation(client: Any) -> None:
        assert (await call(client, "diagnose", log_text=LOG))["root"]["line_number"] == 2
        assert "ExecStart=" in json.dumps(await call(client, "export", folder=".", format="systemd"))
        assert (await call(client, "compare", before=".", after="result.json"))["status"] == "equivalent"
        assert [one["label"] for one in (await call(client, "plan", campaign_file="c.toml"))["candidates"]] == [
            "baseline"
        ]
        found = await call(client, "inspect", engine="llama.cpp", python=sys.executable)
        assert "ctx-size" in found["engine"]["flags"]

    talk(conversation, tmp_path)


CAMPAIGN = """
[campaign]
name = "agent"
[model]
path = "demo:SmolLM2-135M-Instruct.Q4_1.gguf"
[engine]
kind = "llama.cpp"
args = { ctx-size = 1024, threads = 1, parallel = 1 }
[[workload]]
name = "w"
input_tokens = 16
output_tokens = 8
concurrency = 1
requests = 2
[gates]
level = "quick"
[decide]
launches = 1
repeats = 1
"""


@pytest.mark.slow
@pytest.mark.live
def test_an_agent_runs_a_campaign_in_the_background(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(CAMPAIGN)
    heard: list[tuple[float, float | None]] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total))

    async def conversation(client: Any) -> None:
        started = await call(client, "start_run", campaign_file="c.toml", folder="out")
        assert started["pid"] > 0
        assert "running already" in await refusal(client, "start_run", campaign_file="c.toml", folder="out")
        answer = await client.call_tool("run_progress", {"folder": "out", "wait_s": 100}, progress_callback=listen)
        state = json.loads(answer.content[0].text)
        assert (state["running"], state["finished"]) == (False, True)
        assert state["winner"]["label"]
        assert heard[-1] == (1, 1)
        assert "baseline" in await call(client, "report", folder="out")

    talk(conversation, tmp_path)


@pytest.mark.slow
@pytest.mark.live
def test_a_campaign_can_be_stopped_and_resumed(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(CAMPAIGN.replace("requests = 2", "requests = 400"))

    async def conversation(client: Any) -> None:
        await call(client, "start_run", campaign_file="c.toml", folder="out")
        while not (await call(client, "run_progress", folder="out"))["candidates"]:
            await asyncio.sleep(0.2)
        assert (await call(client, "stop_run", folder="out"))["stopped"]
        state = await call(client, "run_progress", folder="out")
        assert (state["running"], state["finished"]) == (False, False)
        assert "no campaign that this server started" in await refusal(client, "stop_run", folder="out")

    talk(conversation, tmp_path)
