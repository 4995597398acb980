"""The tools of the MCP server. Each runs the command of its name, so that agents and people see one truth.

A campaign takes longer than a tool may: ``start_run`` starts it as a process of its own, which outlives the server;
``run_progress`` reads the results folder, waiting if asked to, and reports progress while it waits.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from shakedown.domain.errors import ShakedownError
from shakedown.domain.result import CampaignResult
from shakedown.domain.words import Verdict
from shakedown.interchange.opened import open_result
from shakedown.report import sentences

_POLL_S = 1.0
_LOG = "run.log"

INSTRUCTIONS = (
    "Shakedown finds the launch configuration of a language-model server that is correct and fastest, by measuring. "
    "Typical course: inspect the model and machine; write a campaign file; plan it; start_run; run_progress until "
    "finished; report. For a server that does not start: diagnose its log."
)

Folder = Annotated[str, Field(description="Results folder of the campaign.")]


def build_server() -> MCPServer:
    """Make the server; ``run("stdio")`` serves until its input ends. Campaigns that it started go on."""
    server = MCPServer("shakedown", instructions=INSTRUCTIONS)
    runs = _Runs()
    for tool in (inspect, plan, diagnose, report, compare, export, runs.start_run, runs.run_progress, runs.stop_run):
        server.tool()(tool)
    return server


async def inspect(model: str | None = None, engine: str | None = None, python: str | None = None) -> dict[str, Any]:
    """Say what a checkpoint (folder or GGUF file), this machine and an engine installation are. Loads nothing."""
    words = [*([model] if model else []), *_option("--engine", engine), *_option("--python", python)]
    found = await _document("inspect", *words, "--json")
    if isinstance(found.get("engine"), dict):
        # Hundreds of flags with their help would fill an agent's context; their names are enough to choose from.
        found["engine"]["flags"] = sorted(found["engine"].get("flags") or {})
    return found


async def plan(
    campaign_file: Annotated[str, Field(description="Campaign file, TOML.")],
    machine_file: Annotated[str | None, Field(description="inspect's JSON of another machine.")] = None,
) -> dict[str, Any]:
    """List a campaign's candidates, those that cannot work with rule and source, what fits, the hardware's ceiling."""
    return await _document("plan", campaign_file, *_option("--machine", machine_file), "--json")


async def diagnose(
    log_file: Annotated[str | None, Field(description="Path of the engine's log.")] = None,
    log_text: Annotated[str | None, Field(description="The log itself, where there is no file.")] = None,
    engine: Annotated[str | None, Field(description="llama.cpp, sglang, vllm or tensorrt-llm.")] = None,
) -> dict[str, Any]:
    """Find the root line, cause, remedy and source in the log of a server that failed."""
    if (log_file is None) == (log_text is None):
        raise ToolError("give log_file or log_text")
    words = ["diagnose", log_file or "-", *_option("--engine", engine), "--json"]
    return await _document(*words, stdin=log_text, accepted=(0, 3))


async def report(
    folder: Folder,
    format: Annotated[str, Field(description="md: to read; json: every figure; csv: a row a load point.")] = "md",  # noqa: A002
) -> str:
    """Report on a campaign, finished or running, or on a result file of a load generator."""
    return await _output("report", folder, "--format", format)


async def compare(before: str, after: str) -> dict[str, Any]:
    """Say what got better or worse between two results: campaigns, bench results, or files of other load generators."""
    return await _document("compare", before, after, "--json", accepted=(0, 3, 4))


async def export(
    folder: Folder,
    format: Annotated[str, Field(description="command, systemd, compose, kubernetes, engine or prometheus.")],  # noqa: A002
) -> dict[str, Any]:
    """Give the files that put the winner into production."""
    return await _document("export", folder, "--format", format, "--json")


class _Runs:
    """Campaigns that this server started, by their folder."""

    def __init__(self) -> None:
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    async def start_run(self, campaign_file: str, folder: Folder) -> dict[str, Any]:
        """Start or resume a campaign in the background. It goes on when this server ends; see run_progress."""
        path = Path(folder).absolute()
        if self._is_running(str(path)):
            raise ToolError(f"{path}: this campaign is running already; see run_progress")
        await _document("plan", campaign_file, "--json")  # what is wrong with the file is said now
        path.mkdir(parents=True, exist_ok=True)
        with (path / _LOG).open("ab") as log:
            self._processes[str(path)] = subprocess.Popen(
                [sys.executable, "-m", "shakedown", "run", campaign_file, "--out", str(path)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return {"folder": str(path), "pid": self._processes[str(path)].pid, "log": str(path / _LOG)}

    async def run_progress(
        self,
        folder: Folder,
        context: Context,
        wait_s: Annotated[float, Field(ge=0, le=3600, description="Wait so long for it to finish.")] = 0,
    ) -> dict[str, Any]:
        """Say how far a campaign is: candidates judged, its verdict so far, whether it is finished."""
        path = Path(folder).absolute()
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_s
        while True:
            found = await asyncio.to_thread(self._progress, path)
            if found["candidates"]:
                await context.report_progress(found["judged"], found["candidates"], found["verdict"])
            if not found["running"] or loop.time() >= until:
                return found
            await asyncio.sleep(min(_POLL_S, max(until - loop.time(), 0.0)))

    async def stop_run(self, folder: Folder) -> dict[str, Any]:
        """Stop a campaign that this server started; what was measured is kept, start_run resumes it."""
        path = str(Path(folder).absolute())
        process = self._processes.get(path)
        if process is None or process.poll() is not None:
            raise ToolError(f"{path}: no campaign that this server started is running here")
        process.send_signal(signal.SIGINT)
        await asyncio.to_thread(process.wait)
        return {"folder": path, "stopped": True}

    def _is_running(self, path: str) -> bool:
        process = self._processes.get(path)
        return process is not None and process.poll() is None

    def _progress(self, path: Path) -> dict[str, Any]:
        running = self._is_running(str(path))
        try:
            result = open_result(path)
        except ShakedownError as error:
            if not running:
                raise ToolError(f"{error}{_last_words(path)}") from error
            return _state(path, running=True, result=None)
        return _state(path, running=running, result=result)


def _state(path: Path, *, running: bool, result: CampaignResult | None) -> dict[str, Any]:
    candidates = () if result is None else result.candidates
    judged = sum(candidate.verdict is not Verdict.NOT_RUN for candidate in candidates)
    return {
        "folder": str(path),
        "running": running,
        "finished": result is not None and result.campaign.complete,
        "candidates": len(candidates),
        "judged": judged,
        "verdict": "planning" if result is None else " ".join(sentences.verdict(result)),
        "winner": None if result is None or result.winner is None else result.winner.model_dump(mode="json"),
    }


def _last_words(path: Path) -> str:
    log = path / _LOG
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.is_file() else []
    return f"; the run said: {said[-1]}" if said else ""


def _option(name: str, value: str | None) -> list[str]:
    return [] if value is None else [name, value]


async def _document(*words: str, stdin: str | None = None, accepted: tuple[int, ...] = (0,)) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(await _output(*words, stdin=stdin, accepted=accepted))
    return found


async def _output(*words: str, stdin: str | None = None, accepted: tuple[int, ...] = (0,)) -> str:
    """Run a command to its end and give its standard output.

    Raises:
        ToolError: it failed; the message is the command's own.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "shakedown", *words,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate((stdin or "").encode())
    if process.returncode not in accepted:
        raise ToolError(err.decode(errors="replace").strip() or f"shakedown {words[0]} left with {process.returncode}")
    return out.decode()
