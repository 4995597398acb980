"""The gates on the embedded engine: how KV caches come out, what is caught, how often a good server is called bad.

    python -m benchmarks.checks.on_llama order              KV cache types by KL, with intervals
    python -m benchmarks.checks.on_llama faults             wrong launches, and the check that catches each
    python -m benchmarks.checks.on_llama alarms             100 times quick, 20 times standard on an untouched server
    python -m benchmarks.checks.on_llama ... --update       and put the table into docs/gates.md

Needs the ``demo`` extra. Run it on a quiet machine: the times are part of the result.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from shakedown.checks.base import Context
from shakedown.checks.ladder.drift_from_reference import CHECK as DRIFT
from shakedown.checks.reference import read_reference, write_reference
from shakedown.checks.runner import run_checks
from shakedown.checks.server import Server as Asked
from shakedown.domain.base import ArgValue
from shakedown.domain.candidate import Candidate, EngineRef, ModelRef
from shakedown.domain.check import CheckReport, CheckResult
from shakedown.domain.events import ServerReady
from shakedown.domain.trial import Gates, Limits
from shakedown.domain.words import CheckVerdict, EngineKind, GateLevel
from shakedown.domain.workload import Target
from shakedown.engines.registry import engine_for
from shakedown.inspect.assets import demo_model
from shakedown.launch.port import free_port
from shakedown.launch.server import Server

ENGINE = engine_for(EngineKind.LLAMA_CPP)
DOCUMENT = Path(__file__).parents[2] / "docs" / "gates.md"
ARGS: dict[str, ArgValue] = {"ctx-size": 8192, "parallel": 4, "flash-attn": "on"}
CONTEXT_TOKENS = 1024
RUNS_PER_LAUNCH = 5
CACHES = ("f16", "q8_0", "q4_0")
WRONG: dict[str, dict[str, ArgValue]] = {
    "RoPE frequencies halved": {"rope-freq-scale": 0.5},
    "another chat template (llama2)": {"chat-template": "llama2"},
    "context of 768 tokens for inputs of 1,024": {"ctx-size": 3072},
    "KV cache q4_0": {"cache-type-k": "q4_0", "cache-type-v": "q4_0"},
}


@contextmanager
def served(folder: Path, threads: int, **changes: ArgValue) -> Iterator[Target]:
    port = free_port("127.0.0.1")
    model = str(demo_model(lambda text: print(text, file=sys.stderr)))
    candidate = Candidate(
        engine=EngineRef(kind=EngineKind.LLAMA_CPP, python=sys.executable),
        model=ModelRef(path=model, name="demo"),
        args={**ARGS, "threads": threads, **changes},
    )
    server = Server.start(
        ENGINE.launch_plan(candidate, host="127.0.0.1", port=port),
        ENGINE,
        folder=folder / str(port),
        host="127.0.0.1",
        port=port,
        limits=Limits(),
        model_name="demo",
        on_event=lambda _: None,
    )
    try:
        ready = server.wait_ready()
        if not isinstance(ready, ServerReady):
            sys.exit(f"the server did not start: {ready}")
        yield Target(base_url=server.base_url, model="demo")
    finally:
        server.stop()


def check(target: Target, level: GateLevel, file: Path, *, write: bool = False) -> CheckReport:
    gates = Gates(level=level, context_tokens=CONTEXT_TOKENS, write_reference=write, reference_file=str(file))
    return run_checks(target, ENGINE, gates, on_result=show)


def show(result: CheckResult) -> None:
    print(
        f"  {result.verdict.value:8}{result.name:24}{result.seconds:7.2f} s  {result.summary}",
        file=sys.stderr,
        flush=True,
    )


def drift_of(report: CheckReport) -> CheckResult:
    return next(result for result in report.checks if result.name == "drift_from_reference")


def drift(target: Target, level: GateLevel, file: Path, *, write: bool = False) -> dict[str, object]:
    """Run the check against the reference alone; return its evidence."""
    gates = Gates(level=level, context_tokens=CONTEXT_TOKENS)
    with Asked(target) as server:
        context = Context(server, ENGINE, gates, None if write else read_reference(file, "demo"), {} if write else None)
        outcome = DRIFT.run(context)
    print(f"{level.value}: {outcome.summary}", file=sys.stderr, flush=True)
    if write:
        write_reference(file, model="demo", level=level, context_tokens=CONTEXT_TOKENS, parts=context.draft or {})
    return dict(outcome.evidence)


def order(folder: Path, threads: int, levels: list[GateLevel]) -> list[str]:
    lines = [
        "| KV cache | level | mean KL, nats | 95 % interval | top-1 agreement | positions | decision |",
        "| --- " * 7 + "|",
    ]
    for level in levels:
        file = folder / f"{level.value}.json"
        with served(folder, threads) as target:
            drift(target, level, file, write=True)
        for cache in CACHES:
            with served(folder, threads, **{"cache-type-k": cache, "cache-type-v": cache}) as target:
                told = drift(target, level, file)
            low, high = told["interval"]
            lines.append(
                f"| {cache} | {level.value} | {told['mean_kl']:.5f} | {low:.5f} to {high:.5f} | "
                f"{told['top1_agreement']:.1%} | {told['positions']} | {told['decision']} |"
            )
    return lines


def faults(folder: Path, threads: int, levels: list[GateLevel]) -> list[str]:
    lines = ["| launch | level | caught by | says |", "| --- " * 4 + "|"]
    for level in levels:
        file = folder / f"{level.value}.json"
        with served(folder, threads) as target:
            check(target, level, file, write=True)
        for name, changes in WRONG.items():
            with served(folder, threads, **changes) as target:
                report = check(target, level, file)
            last = report.checks[-1]
            failed = last.verdict is CheckVerdict.FAIL
            caught, said = (f"`{last.name}`", last.summary) if failed else ("nothing", drift_of(report).summary)
            lines.append(f"| {name} | {level.value} | {caught} | {said} |")
    return lines


def alarms(folder: Path, threads: int, rounds: dict[GateLevel, int]) -> list[str]:
    lines = ["| level | runs | passed | failed by | median time | longest |", "| --- " * 6 + "|"]
    for level, count in rounds.items():
        file = folder / f"{level.value}.json"
        with served(folder, threads) as target:
            check(target, level, file, write=True)
        passed, times, blamed = 0, [], Counter[str]()
        for first in range(0, count, RUNS_PER_LAUNCH):
            print(f"{level.value}: {passed} of {first} passed", file=sys.stderr, flush=True)
            with served(folder, threads) as target:
                for _ in range(min(RUNS_PER_LAUNCH, count - first)):
                    begun = time.monotonic()
                    report = check(target, level, file)
                    times.append(time.monotonic() - begun)
                    passed += report.verdict is CheckVerdict.PASS
                    blamed.update(result.name for result in report.checks if result.verdict is CheckVerdict.FAIL)
        names = ", ".join(f"`{name}` {times_}" for name, times_ in blamed.items()) or "none"
        lines.append(f"| {level.value} | {count} | {passed} | {names} | {median(times):.1f} s | {max(times):.1f} s |")
    return lines


def update(what: str, lines: list[str]) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    begin, end = f"<!-- {what} -->", f"<!-- end {what} -->"
    block = "\n".join([begin, *lines, end])
    DOCUMENT.write_text(re.sub(f"{begin}.*?{end}", lambda _: block, text, flags=re.DOTALL), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["order", "faults", "alarms"])
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--quick", type=int, default=100, help="runs of quick (alarms)")
    parser.add_argument("--standard", type=int, default=20, help="runs of standard (alarms)")
    parser.add_argument(
        "--level",
        type=GateLevel,
        nargs="+",
        default=[GateLevel.QUICK, GateLevel.STANDARD],
        help="levels to run (order, faults)",
    )
    parser.add_argument("--update", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if asked.what == "alarms":
            rounds = {GateLevel.QUICK: asked.quick, GateLevel.STANDARD: asked.standard}
            lines = alarms(folder, asked.threads, {level: count for level, count in rounds.items() if count})
        else:
            lines = {"order": order, "faults": faults}[asked.what](folder, asked.threads, asked.level)
    print("\n".join(lines))
    if asked.update:
        update(asked.what, lines)


if __name__ == "__main__":
    main()
