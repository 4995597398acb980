"""What is claimed: 1 GB of log in under 20 s of one core and under 300 MB of memory.

Run: python benchmarks/diagnose/gigabyte.py [MEGABYTES]

Three logs are made from the real ones of tests/logs and diagnosed from memory, a block at a time: a serving log with
its failure at the very end, a failing log repeated without end, and one line of 100 MB. A figure is CPU seconds of this
process (other processes do not count), the memory is the peak of the whole process.
"""

from __future__ import annotations

import gzip
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from shakedown.diagnose.diagnose import diagnose_blocks
from shakedown.diagnose.scanner import BLOCK_BYTES

REAL = Path(__file__).parents[2] / "tests" / "logs" / "real"
OOM = b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 MiB.\n"


def real(name: str) -> bytes:
    return gzip.decompress((REAL / name).read_bytes())


def repeated(unit: bytes, megabytes: int) -> Iterator[bytes]:
    block = unit * max(1, BLOCK_BYTES // len(unit))
    for _ in range(megabytes * 1_000_000 // len(block)):
        yield block


def serving_then_failing(megabytes: int) -> Iterator[bytes]:
    log = real("sglang-0.5.17-h200-nextn-load.log.gz")
    yield from repeated(log[log.index(b"Uvicorn running") : log.index(b"SIGTERM")], megabytes)
    yield OOM


def failing_again_and_again(megabytes: int) -> Iterator[bytes]:
    yield from repeated(real("sglang-0.5.17-h200-trtllm-moe-died.log.gz"), megabytes)


def one_line(megabytes: int) -> Iterator[bytes]:
    yield from repeated(b"0123456789 abcdef ", megabytes)
    yield b"\n" + OOM


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    diagnose_blocks([OOM])  # load and compile once: start-up is not the log's cost
    print(f"{'log':28}{'MB':>6}{'CPU s':>8}{'MB/s':>7}{'peak MB':>9}  root")
    for make, size in ((serving_then_failing, megabytes), (failing_again_and_again, megabytes), (one_line, 100)):
        started = time.process_time()
        root = diagnose_blocks(make(size)).root
        spent = time.process_time() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        found = f"{root.signature}, line {root.line_number}" if root else "none"
        print(f"{make.__name__:28}{size:>6}{spent:>8.1f}{size / spent:>7.0f}{peak:>9.0f}  {found}")


if __name__ == "__main__":
    main()
