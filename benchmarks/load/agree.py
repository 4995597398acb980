"""Do the clients agree where they should? The embedded llama.cpp on one core, the clients on the other, interleaved.

At concurrency 1 and 4 a client's own delays are small beside a token's time, so output tokens per second must be the
same for all. Every round runs each client once at each concurrency, forwards and backwards in turn, so that drift of
the machine falls on all alike; each client's rounds give a mean and a 95 % interval (t).

    PYTHONPATH=src python benchmarks/load/agree.py MODEL.gguf [--rounds 3] [--only shakedown,vllm,guidellm]
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from clients import run, write_inputs
from peers import PEERS, Load, read_shakedown, shakedown_command
from scipy import stats

TOKENS = 64
REQUESTS = 16

SERVER = """
import sys, time, xllamacpp as x
p = x.CommonParams()
p.model.path = sys.argv[1]; p.port = 0; p.n_ctx = 8192; p.n_parallel = 4; p.cpuparams.n_threads = 1
p.cpuparams_batch.n_threads = 1
server = x.Server(p)
print(server.listening_address, flush=True)
time.sleep(1e9)
"""


@contextlib.contextmanager
def llama(model: str) -> Iterator[str]:
    """The server of the xllamacpp wheel, on the first core."""
    command = ["taskset", "-c", "0", sys.executable, "-c", SERVER, model]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def interval(values: list[float]) -> float:
    """Half-width of the 95 % interval of a mean."""
    if len(values) < 2:
        return math.nan
    return float(stats.t.ppf(0.975, len(values) - 1)) * statistics.stdev(values) / math.sqrt(len(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="shakedown,vllm,guidellm")
    options = parser.parse_args()
    peers = [peer for peer in PEERS if peer.name.split()[0].lower() in options.only]
    paths = {peer.name: str(peer.environment()) for peer in peers}
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    rates: dict[tuple[int, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as name, llama(options.model) as url:
        prompts, tokenizer = write_inputs(Path(name), REQUESTS)
        clients = [("Shakedown", shakedown_command, os.defpath, read_shakedown)]
        clients += [(peer.name, peer.command, paths[peer.name], peer.read) for peer in peers]
        warm = Load(url, options.model, 4, REQUESTS, TOKENS, prompts, tokenizer, Path(name))
        run("warm-up", shakedown_command(warm), os.defpath)  # a server's first requests take twice as long
        for _ in range(options.rounds):
            for concurrency in (1, 4):
                load = Load(url, options.model, concurrency, REQUESTS, TOKENS, prompts, tokenizer, Path(name))
                for client, command, path, read in clients:
                    run(client, command(load), path)
                    rates.setdefault((concurrency, client), []).append(read(load).output_tokens_per_s or 0)
            clients = clients[::-1]
    print("| C | client | output tokens/s, mean and 95 % interval | each round | to Shakedown |\n" + "| --- " * 5 + "|")
    for (concurrency, client), values in sorted(rates.items()):
        mean, own = statistics.mean(values), statistics.mean(rates[concurrency, "Shakedown"])
        each = ", ".join(f"{value:.1f}" for value in values)
        ratio = f"{100 * (mean / own - 1):+.1f} %"
        print(f"| {concurrency} | {client} | {mean:.2f} ± {interval(values):.2f} | {each} | {ratio} |")


if __name__ == "__main__":
    main()
