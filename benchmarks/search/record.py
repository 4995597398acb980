"""Measure the full grid of the embedded llama.cpp once: ``python -m benchmarks.search.record MODEL.gguf``.

Every combination is launched once, in a shuffled order, and measured under two workloads, which gives two landscapes.
The reference is launched again between, so that drift of the machine is on record. Writes ``landscapes/*.json``.
With ``--limit-s`` it stops after so long and goes on when it is run again, from ``landscapes/recording.jsonl``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from benchmarks.search.families import RECORDED

DIMENSIONS = {
    "threads": ("2", "1"),
    "parallel": ("4", "1"),
    "ubatch": ("512", "32"),
    "kv": ("f16", "q8_0"),
    "flash": ("on", "off"),
    "spec": ("off", "ngram"),
}
INTERACTING = [["kv", "flash"], ["parallel", "spec"]]
WORKLOADS = {"llamacpp_decode": (4, 4, 12, 12), "llamacpp_prefill": (2, 2, 100, 2)}
"""Concurrency, requests, prompt words, output tokens."""
WORDS = ("ship", "port", "dawn", "crew", "rope", "sail", "water", "bread", "salt", "way", "north", "wind", "night")
REFERENCE_EVERY = 20
RECORD = RECORDED / "recording.jsonl"

Choice = tuple[str, ...]


def serve(model: str, choice: dict[str, str]) -> None:
    """Run one server in this process until standard input closes; print its address when it is ready."""
    import xllamacpp as xl

    params = xl.CommonParams()
    params.model.path = model
    params.port = 0
    params.n_ctx = 4096
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(choice["threads"])
    params.n_parallel = int(choice["parallel"])
    params.n_batch = params.n_ubatch = int(choice["ubatch"])
    kv = xl.ggml_type.GGML_TYPE_F16 if choice["kv"] == "f16" else xl.ggml_type.GGML_TYPE_Q8_0
    params.cache_type_k = params.cache_type_v = kv
    flash = xl.llama_flash_attn_type
    on = choice["flash"] == "on"
    params.flash_attn_type = flash.LLAMA_FLASH_ATTN_TYPE_ENABLED if on else flash.LLAMA_FLASH_ATTN_TYPE_DISABLED
    if choice["spec"] == "ngram":
        params.speculative.types = [xl.common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE]
    server = xl.Server(params)
    print(f"READY {server.listening_address}", flush=True)
    sys.stdin.read()
    os._exit(0)  # The server's threads need no farewell.


def prompt(words: int, number: int) -> str:
    """Text that differs from request to request from its first word, so that no prefix is cached."""
    rng = random.Random(number)
    return f"{number} " + " ".join(rng.choice(WORDS) for _ in range(words))


def tokens_per_s(base_url: str, workload: str) -> float | None:
    """Measure one workload: prompt and output tokens per second over all requests; None if any failed."""
    concurrency, requests, words, output = WORKLOADS[workload]

    def one(number: int, words: int = words) -> int:
        body = {"prompt": prompt(words, number), "max_tokens": output, "temperature": 0.0, "ignore_eos": True}
        answer = httpx.post(f"{base_url}/v1/completions", json=body, timeout=60.0)
        answer.raise_for_status()
        return int(answer.json()["usage"]["total_tokens"])

    try:
        one(10_000, words=4)  # Warm up.
        started = time.perf_counter()
        with ThreadPoolExecutor(concurrency) as pool:
            total = sum(pool.map(one, range(requests)))
    except httpx.HTTPError:
        return None
    return total / (time.perf_counter() - started)


def launch(model: str, choice: Choice) -> dict[str, float | None] | None:
    """Launch one combination and measure both workloads; None if it did not start."""
    settings = json.dumps(dict(zip(DIMENSIONS, choice, strict=True)))
    command = [sys.executable, "-m", "benchmarks.search.record", model, "--serve", settings]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if line.startswith("READY "):
                    address = line.split()[1]
                    return {workload: tokens_per_s(address, workload) for workload in WORKLOADS}
            return None
        finally:
            process.kill()


def record(model: str, limit_s: float) -> None:
    """Measure what the record does not hold yet, for so long; once it is whole, write the landscapes."""
    choices = list(itertools.product(*DIMENSIONS.values()))
    done = [] if not RECORD.exists() else [json.loads(line) for line in RECORD.read_text().splitlines()]
    started = time.monotonic()
    have = Counter(tuple(row["choice"]) for row in done)
    for number, choice in enumerate(course(choices)):
        have[choice] -= 1
        if have[choice] >= 0:
            continue
        if time.monotonic() - started > limit_s:
            raise SystemExit(f"{len(done)} launches are recorded; run this again to go on")
        done.append({"choice": choice, "shown": launch(model, choice)})
        with RECORD.open("a") as lines:
            lines.write(json.dumps(done[-1]) + "\n")
        print(number, done[-1], flush=True)
    for workload in WORKLOADS:
        write(workload, choices, done)
    RECORD.unlink()


def course(choices: list[Choice]) -> list[Choice]:
    """Put all combinations into a shuffled order, the reference first and again after every twenty."""
    order = choices[1:]
    random.Random(0).shuffle(order)
    pieces = [order[at : at + REFERENCE_EVERY] for at in range(0, len(order), REFERENCE_EVERY)]
    return [choice for piece in pieces for choice in (choices[0], *piece)]


def write(workload: str, choices: list[Choice], done: list[dict[str, Any]]) -> None:
    """Write one landscape; the reference has the median of its launches."""
    shown: dict[Choice, list[float | None]] = {}
    for row in done:
        shown.setdefault(tuple(row["choice"]), []).append(row["shown"] and row["shown"][workload])
    started = {tuple(row["choice"]) for row in done if row["shown"] is not None}
    rows = []
    for choice in choices:
        values = [value for value in shown[choice] if value is not None]
        verdict = "qualified" if values else "crashed" if choice in started else "failed"
        objective = round(statistics.median(values), 2) if values else None
        rows.append({"choice": choice, "verdict": verdict, "objective": objective})
    content = {
        "what": "llama.cpp (wheel xllamacpp), SmolLM2-135M-Instruct Q4_1, 2 CPU cores, one launch each",
        "unit": "prompt and output tokens per second",
        "workload": dict(zip(("concurrency", "requests", "words", "output"), WORKLOADS[workload], strict=True)),
        "dimensions": DIMENSIONS,
        "interacting": INTERACTING,
        "reference_again": [value and round(value, 2) for value in shown[choices[0]]],
    }
    head = json.dumps(content, indent=1).rstrip("}\n")
    body = ",\n".join(json.dumps(row) for row in rows)
    (RECORDED / f"{workload}.json").write_text(f'{head},\n "arms": [\n{body}\n]}}\n')


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--serve", type=json.loads, help="settings of the one server to run (used by itself)")
    parser.add_argument("--limit-s", type=float, default=1800.0)
    options = parser.parse_args()
    if options.serve:
        serve(options.model, options.serve)
    else:
        record(options.model, options.limit_s)
