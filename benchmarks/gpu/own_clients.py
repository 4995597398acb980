"""The same load points by Shakedown and by the engine's own client, in turn, against one server of the engine.

    python -m benchmarks.gpu.own_clients sglang --python sglang-python --model MODEL --out FOLDER [--seconds 240]

Prompts are random tokens, 512 in and 128 out, never the same twice, so that no prefix cache helps either. Prints a
table with throughput, TTFT and each client's CPU time, then one point at concurrency 1,024 by Shakedown alone with its
proof that the client was not the limit; FOLDER keeps what each client wrote. Rounds end when the seconds are up.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from shakedown.domain.base import ArgValue
from shakedown.domain.candidate import Candidate, EngineRef, ModelRef
from shakedown.domain.events import ServerReady
from shakedown.domain.trial import Limits
from shakedown.domain.words import EngineKind
from shakedown.engines.registry import engine_for
from shakedown.launch.port import free_port
from shakedown.launch.server import Server

NAME = "own-clients"
ARGS: dict[str, dict[str, ArgValue]] = {
    "sglang": {"cuda-graph-max-bs-decode": 256, "mem-fraction-static": 0.4},
    "vllm": {"gpu-memory-utilization": 0.4, "max-num-seqs": 256},
}
INPUT, OUTPUT = 512, 128
LEVELS = ((1, 16), (16, 128), (64, 384))
"""Concurrency and requests of each point."""
CROWD = 1024
Row = dict[str, float]


def own_command(
    engine: str, python: str, model: str, url: str, level: tuple[int, int], seed: int, file: Path
) -> list[str]:
    concurrency, requests = level
    if engine == "sglang":
        return [
            python, "-m", "sglang.bench_serving", "--backend", "sglang-oai", "--base-url", url, "--model", NAME,
            "--tokenizer", model, "--dataset-name", "random-ids", "--random-input-len", str(INPUT),
            "--random-output-len", str(OUTPUT), "--random-range-ratio", "1", "--num-prompts", str(requests),
            "--max-concurrency", str(concurrency), "--seed", str(seed), "--warmup-requests", "1", "--disable-tqdm",
            "--output-file", str(file),
        ]  # fmt: skip
    return [
        python, "-m", "vllm.entrypoints.cli.main", "bench", "serve", "--backend", "openai", "--base-url", url,
        "--endpoint", "/v1/completions", "--model", NAME, "--tokenizer", model, "--dataset-name", "random",
        "--random-input-len", str(INPUT), "--random-output-len", str(OUTPUT), "--num-prompts", str(requests),
        "--max-concurrency", str(concurrency), "--seed", str(seed), "--ignore-eos", "--disable-tqdm",
        "--percentile-metrics", "ttft,tpot,itl,e2el", "--save-result", "--result-filename", str(file),
    ]  # fmt: skip


def shakedown_command(url: str, level: tuple[int, int], seed: int, folder: Path) -> list[str]:
    concurrency, requests = level
    return [
        sys.executable, "-m", "shakedown", "bench", "--base-url", url, "--model", NAME, "--prompts", "random-tokens",
        "--input-tokens", str(INPUT), "--output-tokens", str(OUTPUT), "--concurrency", str(concurrency),
        "--requests", str(requests), "--seed", str(seed), "--warmup", "1", "--out", str(folder),
    ]  # fmt: skip


def run(command: list[str], log: Path) -> float:
    """Run a client; return its CPU seconds, children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with log.open("w") as file:
        done = subprocess.run(command, check=False, stdout=file, stderr=subprocess.STDOUT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        print(f"{log.name}: exit {done.returncode}: {log.read_text()[-600:]}", flush=True)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def read_own(file: Path) -> Row:
    said: dict[str, Any] = json.loads(file.read_text().splitlines()[-1])
    keys = {"tok/s": "output_throughput", "mean TTFT": "mean_ttft_ms", "p99 TTFT": "p99_ttft_ms", "ITL": "mean_itl_ms"}
    return {name: float(said[key]) for name, key in keys.items()}


def read_shakedown(folder: Path) -> Row:
    (point,) = json.loads((folder / "result.json").read_text())["points"]
    return {
        "tok/s": point["whole_window_output_tokens_per_s"],
        "mean TTFT": point["ttft_s"]["mean"] * 1e3,
        "p99 TTFT": point["ttft_s"]["p99"] * 1e3,
        "ITL": point["itl_s"]["mean"] * 1e3,
    }


def measure(engine: str, python: str, model: str, url: str, out: Path, end: float) -> dict[tuple[int, str], list[Row]]:
    rows: dict[tuple[int, str], list[Row]] = defaultdict(list)
    for seed in range(1, 100):
        for level in LEVELS:
            for client in ("shakedown", "own") if seed % 2 else ("own", "shakedown"):
                if time.monotonic() > end:
                    return rows
                place = out / f"{client}-c{level[0]}-{seed}"
                if client == "own":
                    file = place.with_suffix(".json")
                    command = own_command(engine, python, model, url, level, 1000 + seed, file)
                else:
                    command = shakedown_command(url, level, seed, place)
                cpu = run(command, place.with_suffix(".log"))
                row = read_own(file) if client == "own" else read_shakedown(place)
                rows[level[0], client].append({**row, "CPU s": cpu})
                print(
                    level[0],
                    client,
                    {name: round(value, 2) for name, value in rows[level[0], client][-1].items()},
                    flush=True,
                )
    return rows


def table(engine: str, rows: dict[tuple[int, str], list[Row]]) -> str:
    columns = ("tok/s", "mean TTFT", "p99 TTFT", "ITL", "CPU s")
    own = {"sglang": "sglang.bench_serving", "vllm": "vllm bench serve"}[engine]
    lines = [f"| C | client | rounds | {' | '.join(columns)} | tok/s beside the other |", "| --- " * 9 + "|"]
    for (concurrency, client), found in sorted(rows.items()):
        means = {column: statistics.fmean(row[column] for row in found) for column in columns}
        other = rows.get((concurrency, "own" if client == "shakedown" else "shakedown"), [])
        ratio = means["tok/s"] / statistics.fmean(row["tok/s"] for row in other) if other else float("nan")
        name = own if client == "own" else client
        values = " | ".join(f"{means[column]:,.1f}" for column in columns)
        lines.append(f"| {concurrency} | {name} | {len(found)} | {values} | {ratio:.3f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=sorted(ARGS))
    parser.add_argument("--python", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a further argument")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=240.0)
    given = parser.parse_args()
    end = time.monotonic() + given.seconds
    engine, port = engine_for(EngineKind(given.engine)), free_port("127.0.0.1")
    candidate = Candidate(
        engine=EngineRef(kind=EngineKind(given.engine), python=given.python),
        model=ModelRef(path=given.model, name=NAME),
        args={**ARGS[given.engine], **dict(pair.split("=", 1) for pair in given.set)},
    )
    given.out.mkdir(parents=True, exist_ok=True)
    server = Server.start(
        engine.launch_plan(candidate, host="127.0.0.1", port=port),
        engine,
        folder=given.out / "server",
        host="127.0.0.1",
        port=port,
        limits=Limits(),
        model_name=NAME,
        on_event=lambda _: None,
    )
    try:
        if not isinstance(ready := server.wait_ready(), ServerReady):
            sys.exit(f"the server did not start: {ready}")
        rows = measure(given.engine, given.python, given.model, server.base_url, given.out, end)
        (given.out / "table.md").write_text(table(given.engine, rows) + "\n")
        print(table(given.engine, rows), flush=True)
        crowd = shakedown_command(server.base_url, (CROWD, CROWD), 99, given.out / "crowd")
        print(f"concurrency {CROWD}: CPU {run(crowd, given.out / 'crowd.log'):.1f} s", flush=True)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
