"""Sets a known failure's lines into a log as its engine writes one: banners, progress bars, warnings, wrappers.

The noise comes from real logs of healthy servers (``real/``) and from the benign cases; only the mixture is random.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
_EXCEPTION = re.compile(r"(?:[\w]+\.)*\w*(?:Error|Exception|OutOfResources)\b")
_EARLY = ("args", "import")
_SERVING = ("serving", "output")
_SERVES_ON = ("accuracy_risk", "wrong_output")
"""Failures that do not end the server."""


@dataclass(frozen=True)
class Case:
    """A failure from a public report: its telling lines, which of them is the root (None: none of them)."""

    id: str
    engine: str
    kind: str
    category: str | None
    lines: tuple[str, ...]
    root: int | None
    phase: str
    source: str


@dataclass(frozen=True)
class MadeLog:
    """A generated log and the 1-based number of its root line."""

    lines: list[str]
    root_number: int | None


@cache
def cases(name: str = "cases.jsonl") -> tuple[Case, ...]:
    """Read the cases of one file."""
    text = (HERE / name).read_text(encoding="utf-8")
    return tuple(Case(**{**record, "lines": tuple(record["lines"])}) for record in map(json.loads, text.splitlines()))


def real_log(name: str) -> list[str]:
    """Return the lines of a real log as bytes decoded, newlines kept away."""
    path = HERE / "real" / name
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return raw.decode("utf-8", "replace").split("\n")


@cache
def _noise(engine: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Boot lines and serving lines of a healthy server."""
    if engine == "sglang":
        lines = real_log("sglang-0.5.17-h200-ready.log.gz")
        at = next(n for n, line in enumerate(lines) if "Uvicorn running" in line)
    elif engine == "llama.cpp":
        lines = real_log("llama.cpp-xllamacpp-healthy.log")
        at = next(n for n, line in enumerate(lines) if "listening" in line)
    elif engine == "tensorrt-llm":
        lines = (HERE / "tensorrt-llm-healthy.log").read_text().split("\n")
        at = next(n for n, line in enumerate(lines) if "Uvicorn running" in line)
    else:
        lines = real_log("vllm-0.26.0-h200-ready.log.gz")
        at = next(n for n, line in enumerate(lines) if "Application startup complete" in line)
    boot = tuple(line for line in lines[: at + 1] if line.strip())
    stop = next(
        (n for n, line in enumerate(lines) if re.search("SIGTERM|[Ss]hutdown triggered|cleaning up", line)), None
    )
    return boot, tuple(line for line in lines[at + 1 : stop] if line.strip())


@cache
def _harmless(engine: str) -> tuple[str, ...]:
    return tuple(line for case in cases() if case.kind == "benign" and case.engine == engine for line in case.lines)


def realistic_log(case: Case, seed: int) -> MadeLog:
    """Make a log of 300 to 3,000 lines round the case's lines; the same seed makes the same log."""
    random_source = random.Random(f"{case.id}/{seed}")
    boot, serving = _noise(case.engine)
    boot_lines = _stretched(list(boot), random_source.randint(150, 600), random_source)
    serving_lines = _stretched(list(serving), random_source.randint(150, 2_000), random_source)
    if case.phase in _SERVING or not case.lines or case.kind == "benign" or case.category in _SERVES_ON:
        before = boot_lines + serving_lines
    else:
        before = boot_lines[: random_source.randint(150, max(151, int(len(boot_lines) * 0.9)))]
        before = [line for line in before if not re.search("startup complete|Uvicorn running|ready to roll", line)]
    if case.kind == "benign":
        middle = random_source.randint(20, len(before) - 20)
        return MadeLog(before[:middle] + list(case.lines) + before[middle:], None)
    for line in random_source.sample(_harmless(case.engine), k=min(3, len(_harmless(case.engine)))):
        before.insert(random_source.randint(5, len(before) - 1), line)
    told, root = _told(case, random_source)
    log = before + told
    number = None if root is None else len(before) + root + 1
    log += random_source.sample(list(serving), k=min(5, len(serving))) if case.phase in _SERVING else []
    died = bool(case.lines) and case.category not in _SERVES_ON
    return MadeLog(log + (_ending(case.engine) if died else []), number)


def _stretched(lines: list[str], length: int, random_source: random.Random) -> list[str]:
    """Repeat lines in place, as progress bars and polls do, until there are about ``length``."""
    while len(lines) < length:
        at = random_source.randrange(len(lines))
        lines[at:at] = [lines[at]] * min(random_source.randint(1, 40), length - len(lines))
    return lines


def _told(case: Case, random_source: random.Random) -> tuple[list[str], int | None]:
    """The case's lines, an exception line inside a traceback half of the time."""
    told: list[str] = []
    root = None
    framed = random_source.random() < 0.5
    for index, line in enumerate(case.lines):
        prefix = re.match(r"(?:\([^)]*\) ?)*(?:ERROR [\d-]+ [\d:]+ \[[^\]]+\] )?", line)
        head = prefix.group(0) if prefix else ""
        if (
            framed
            and index == case.root
            and _EXCEPTION.match(line[len(head) :])
            and not any("File" in x for x in case.lines)
        ):
            told += [
                head + "Traceback (most recent call last):",
                head + '  File "/opt/venv/lib/python3.12/site-packages/engine/worker.py", line 416, in init_device',
                head + "    self.model_runner = ModelRunner(self.config, self.device)",
                head + "                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
                head + '  File "/opt/venv/lib/python3.12/site-packages/engine/model_runner.py", line 88, in __init__',
                head + "    self.prepare()",
            ]
        if index == case.root:
            root = len(told)
        told.append(line)
    return told, root


def _ending(engine: str) -> list[str]:
    if engine == "sglang":
        return [
            "[2026-11-29 18:34:06] Received sigquit from a child process. It usually means the child failed.",
            "[2026-11-29 18:34:06] kill_process_tree called: parent_pid=2395, include_parent=True, pid=2395",
            "Killed",
        ]
    if engine == "llama.cpp":
        return ["srv    operator(): operator(): cleaning up before exit...", "main: exiting due to model loading error"]
    if engine == "tensorrt-llm":
        return ["RuntimeError: Executor worker returned error", "[TRT-LLM] [E] Failed to initialize executor"]
    return real_log("vllm-0.26.0-h200-no-flashinfer.log")[-42:]
