"""Lines of real logs, as they came from an engine on a GPU, for scripted engines to say again."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "logs" / "real"
STAMP = re.compile(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] ")


@cache
def lines_of(name: str) -> tuple[str, ...]:
    """All lines of a log in ``tests/logs/real``, its name given without its ending."""
    packed = FOLDER / f"{name}.log.gz"
    text = gzip.decompress(packed.read_bytes()).decode() if packed.exists() else (FOLDER / f"{name}.log").read_text()
    return tuple(text.splitlines())


def picked(name: str, patterns: Iterable[str]) -> list[str]:
    """For each pattern the first line that it finds after the line before: the skeleton of a real log."""
    lines = iter(lines_of(name))
    return [next(line for line in lines if re.search(pattern, line)) for pattern in patterns]


def shape(line: str) -> str:
    """What is left of a line when numbers, times, paths, addresses and process ids are taken away."""
    line = STAMP.sub("", line.rstrip())
    line = re.sub(r"(?:/[\w.+-]+){2,}/?", "PATH", line)
    line = re.sub(r"\b[0-9a-f]{12,}\b", "#", line)
    line = re.sub(r"[+-]?\d[\d.,:]*(?:e[+-]?\d+)?", "#", line)
    return re.sub(r"\[#(?: ?#)*\]", "[#]", line)
