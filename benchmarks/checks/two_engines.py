"""Do vLLM and llama.cpp give the same verdict on the same change? One model, one CPU, one level of gates.

    python -m benchmarks.checks.two_engines MODEL.gguf HF_FOLDER --vllm-python PYTHON
        [--level quick] [--update]

HF_FOLDER holds the weights of MODEL.gguf in Hugging Face form. vLLM gives log-probabilities of the prompt, llama.cpp
is asked position by position. Each engine's untouched server writes its own reference. Prints the table that
``--update`` puts into docs/gates.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.checks.on_llama import show, update

from shakedown.checks.runner import run_checks
from shakedown.domain.base import ArgValue
from shakedown.domain.candidate import Candidate, EngineRef, ModelRef
from shakedown.domain.check import CheckReport
from shakedown.domain.events import ServerReady
from shakedown.domain.trial import Gates, Limits
from shakedown.domain.words import CheckVerdict, EngineKind, GateLevel
from shakedown.domain.workload import Target
from shakedown.engines.registry import engine_for
from shakedown.launch.port import free_port
from shakedown.launch.server import Server

NAME, CONTEXT_TOKENS = "two-engines", 1024
WRONG_TEMPLATE = "{% for m in messages %}[INST] {{ m['content'] }} [/INST]{% endfor %}"


@dataclass(frozen=True)
class Side:
    """One engine: how it is launched, and what each change is called there."""

    kind: EngineKind
    python: str
    command: tuple[str, ...] | None
    model: str
    args: Mapping[str, ArgValue]
    changes: Mapping[str, Mapping[str, ArgValue]]


def sides(gguf: str, folder: str, vllm_python: str, template: Path) -> tuple[Side, Side]:
    return (
        Side(
            EngineKind.LLAMA_CPP,
            sys.executable,
            None,
            gguf,
            {"ctx-size": 8192, "parallel": 4, "flash-attn": "on", "threads": 2},
            {
                "untouched": {},
                "RoPE frequencies halved": {"rope-freq-scale": 0.5},
                "another chat template": {"chat-template": "llama2"},
            },
        ),
        Side(
            EngineKind.VLLM,
            vllm_python,
            # The CPU build's own command line asks for the metadata of a package called vllm, which it is not.
            (vllm_python, "-m", "vllm.entrypoints.openai.api_server", "--model"),
            folder,
            {"max-model-len": 2048, "enforce-eager": True, "dtype": "bfloat16"},
            {
                "untouched": {},
                "RoPE frequencies halved": {
                    "hf-overrides": '{"rope_parameters":{"rope_type":"linear","factor":2.0,"rope_theta":100000.0}}'
                },
                "another chat template": {"chat-template": str(template)},
            },
        ),
    )


@contextmanager
def served(side: Side, changes: Mapping[str, ArgValue], folder: Path) -> Iterator[Target]:
    engine, port = engine_for(side.kind), free_port("127.0.0.1")
    candidate = Candidate(
        engine=EngineRef(kind=side.kind, python=side.python, command=side.command),
        model=ModelRef(path=side.model, name=NAME),
        args={**side.args, **changes},
        env={"VLLM_CPU_KVCACHE_SPACE": "2", "HF_HUB_OFFLINE": "1"} if side.kind is EngineKind.VLLM else {},
    )
    server = Server.start(
        engine.launch_plan(candidate, host="127.0.0.1", port=port),
        engine,
        folder=folder / f"{side.kind.value}-{port}",
        host="127.0.0.1",
        port=port,
        limits=Limits(),
        model_name=NAME,
        on_event=lambda _: None,
    )
    try:
        if not isinstance(ready := server.wait_ready(), ServerReady):
            sys.exit(f"{side.kind.value} did not start: {ready}")
        yield Target(base_url=server.base_url, model=NAME)
    finally:
        server.stop()


def judge(side: Side, changes: Mapping[str, ArgValue], folder: Path, level: GateLevel, *, write: bool) -> CheckReport:
    with served(side, changes, folder) as target:
        gates = Gates(
            level=level,
            context_tokens=CONTEXT_TOKENS,
            write_reference=write,
            reference_file=str(folder / f"{side.kind.value}.json"),
        )
        return run_checks(target, engine_for(side.kind), gates, on_result=show)


def table(gguf: str, folder: str, vllm_python: str, level: GateLevel) -> list[str]:
    lines = ["| change | engine | verdict | by | it says | seconds |", "| --- " * 6 + "|"]
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "template.jinja").write_text(WRONG_TEMPLATE)
        both = sides(gguf, folder, vllm_python, work / "template.jinja")
        for side in both:
            judge(side, {}, work, level, write=True)
        for change in both[0].changes:
            for side in both:
                begun = time.monotonic()
                report = judge(side, side.changes[change], work, level, write=False)
                took = time.monotonic() - begun
                failed = next((check for check in report.checks if check.verdict is CheckVerdict.FAIL), None)
                drift = next((check for check in report.checks if check.name == "drift_from_reference"), None)
                told = failed or drift
                by = f"`{failed.name}`" if failed else "-"
                verdict = failed.fails_as.value if failed else report.verdict.value
                lines.append(
                    f"| {change} | {side.kind.value} | {verdict} | {by} | {told.summary if told else ''} | {took:.0f} |"
                )
                print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gguf")
    parser.add_argument("folder")
    parser.add_argument("--vllm-python", required=True)
    parser.add_argument("--level", type=GateLevel, default=GateLevel.QUICK)
    parser.add_argument("--update", action="store_true")
    given = parser.parse_args()
    lines = table(given.gguf, given.folder, given.vllm_python, given.level)
    if given.update:
        update("engines", lines)


if __name__ == "__main__":
    main()
