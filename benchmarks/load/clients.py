"""All clients against a server whose token times are known, in one run: who tells the truth?

TTFT 200 ms, ITL 20 ms, 64 tokens, four requests a slot, on as many cores as the machine has, the server included. Each
line has what the client says, what the server itself did in that client's run (a machine too busy to write in time is
not held against the client), and the CPU time of the client with all its processes.

    PYTHONPATH=src python benchmarks/load/clients.py [--concurrency 512] [--only shakedown,aiperf,vllm,guidellm]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import tempfile
from pathlib import Path

from peers import PEERS, Load, Reported, read_shakedown, shakedown_command
from tokenizers import Tokenizer, models, pre_tokenizers
from truth import forget, truth, truth_server

TOKENS = 64
ROUNDS = 4
LIMIT_S = 600
WORDS = "ship the tide over sea of harbour and light was north in rope slow bell a prompt"
COLUMNS = (
    "client", "mean TTFT", "p99 TTFT", "mean ITL", "median ITL",
    "server's mean TTFT", "server's p99 TTFT", "server's mean ITL", "client CPU s",
)  # fmt: skip


def write_inputs(folder: Path, requests: int) -> tuple[Path, Path]:
    """Prompts for all clients, no two alike, and a small tokenizer for those that cannot do without."""
    prompts = folder / "prompts.jsonl"
    with prompts.open("w") as file:
        for number in range(requests):
            text = f"prompt {number} " + "the ship was slow " * 30
            # Each client has its own name for the length of an answer.
            lengths = {"output_tokens": TOKENS, "output_tokens_count": TOKENS}
            file.write(json.dumps({"prompt": text, "text": text, **lengths}) + "\n")
    home = folder / "tokenizer"
    home.mkdir()
    made = Tokenizer(
        models.WordLevel({word: number for number, word in enumerate(["?", *WORDS.split()])}, unk_token="?")
    )
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.save(str(home / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "?", "model_max_length": 100_000}
    (home / "tokenizer_config.json").write_text(json.dumps(settings))
    (home / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    return prompts, home


def children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(name: str, command: list[str], path: str) -> float:
    """Run a client to its end; return its CPU seconds."""
    before = children_cpu_s()
    env = os.environ | {"PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, check=False, env=env, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode:
        print(f"{name} failed ({done.returncode}): {(done.stdout + done.stderr)[-1500:]}")
    return children_cpu_s() - before


def line(name: str, said: Reported, did: dict[str, dict[str, float]], cpu_s: float) -> str:
    server = did["ttft_s"]
    itl = "-" if said.itl_p50_ms is None else f"{said.itl_mean_ms:.2f} | {said.itl_p50_ms:.2f}"
    return (
        f"| {name} | {said.ttft_mean_ms:.0f} | {said.ttft_p99_ms:.0f} | {itl} "
        f"| {server['mean'] * 1e3:.0f} | {server['p99'] * 1e3:.0f} | {did['itl_s']['mean'] * 1e3:.2f} | {cpu_s:.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--concurrency", type=int, default=512)
    parser.add_argument("--only", default="shakedown,aiperf,vllm,guidellm")
    options = parser.parse_args()
    chosen = [peer for peer in PEERS if peer.name.split()[0].lower() in options.only]
    paths = {peer.name: str(peer.environment()) for peer in chosen}

    print(f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}")
    with tempfile.TemporaryDirectory() as name, truth_server(ttft_ms=200, itl_ms=20, tokens=TOKENS) as url:
        folder = Path(name)
        requests = ROUNDS * options.concurrency
        prompts, tokenizer = write_inputs(folder, requests)
        load = Load(url, "truth", options.concurrency, requests, TOKENS, prompts, tokenizer, folder)
        if "shakedown" in options.only:
            forget(url)
            cpu = run("Shakedown", shakedown_command(load), os.defpath)
            print(line("Shakedown", read_shakedown(load), truth(url), cpu), flush=True)
        for peer in chosen:
            forget(url)
            cpu = run(peer.name, peer.command(load), paths[peer.name])
            print(line(peer.name, peer.read(load), truth(url), cpu), flush=True)


if __name__ == "__main__":
    main()
