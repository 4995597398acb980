"""How much one core of client carries, and how little memory it takes.

Three measurements against the truth server: 64 tokens in one write at zero latency with client and server on one core
each; one token a write, events per CPU-second of everything the client does (sending, stamping, parsing, summing up);
and ten million arrivals, whose memory is the largest resident size of generator and worker together.

    PYTHONPATH=src python benchmarks/load/client_speed.py [--quick]
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys

from truth import truth_server

from shakedown.domain.workload import LoadLevel, PointPlan, Target, Workload
from shakedown.load.generator import run_point
from shakedown.load.prompts import Prompt

TOKENS = 64


class Numbered:
    """Prompts of a word and a number: this is about answers."""

    def __init__(self) -> None:
        self.made = 0

    def take(self, count: int) -> list[Prompt]:
        """The next prompts."""
        self.made += count
        return [Prompt(f"prompt {self.made - k}", None, TOKENS) for k in range(count)]


def cpu_s() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def measure(requests: int, tokens_per_write: int, concurrency: int) -> str:
    """Run one point pinned to the last core, the server on the first, and say what it took."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with truth_server(ttft_ms=0, itl_ms=0, tokens=TOKENS, tokens_per_write=tokens_per_write, core=0) as url:
        before = cpu_s()
        plan = PointPlan(workload=Workload(name="speed"), level=LoadLevel(concurrency=concurrency), requests=requests)
        summary = run_point(Target(base_url=url, model="truth"), plan, Numbered(), workers=1).summary
        arrivals = summary.output_tokens
        spent = cpu_s() - before
    assert summary.ok == requests, summary.errors
    generator = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    worker = max(0.0, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
    return (
        f"{arrivals:,} arrivals, {arrivals / summary.duration_s:,.0f} tokens/s; "
        f"window {summary.client.cpu_s:.2f} s CPU, {arrivals / summary.client.cpu_s:,.0f} events per CPU-second; "
        f"everything {spent:.2f} s CPU, "
        f"{arrivals / spent:,.0f} events per CPU-second; resident {generator:.0f} + {worker:.0f} MB"
    )


CASES = {
    "64 tokens a write": (20_000, 64, 16),
    "1 token a write": (20_000, 1, 16),
    "ten million arrivals": (156_250, 64, 64),
}


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] == "--case":
        print(measure(*CASES[sys.argv[2]]))
        return
    for name in CASES if "--quick" not in sys.argv else list(CASES)[:2]:
        # Each case in a process of its own, so that the memory of one is not the memory of another.
        out = subprocess.run([sys.executable, __file__, "--case", name], check=True, capture_output=True, text=True)
        print(f"{name}: {out.stdout.strip()}", flush=True)


if __name__ == "__main__":
    main()
