"""Whether what a scripted engine said occurs in a real log, numbers aside, or stands in the engine's source."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache

from tests.rehearsal import sglang, vllm
from tests.rehearsal.real_logs import FOLDER, lines_of, shape


@cache
def real_shapes() -> frozenset[str]:
    """Shapes of every line at hand: the logs of ``tests/logs/real`` and the lines of public reports."""
    names = {file.name.removesuffix(".gz").removesuffix(".log") for file in FOLDER.glob("*.log*")}
    lines = [line for name in names for line in lines_of(name)]
    for file in FOLDER.parent.glob("*.jsonl"):
        for case in file.read_text().splitlines():
            lines += json.loads(case)["lines"]
    return frozenset(_bare(line) for line in lines)


def unknown_lines(lines: Iterable[str]) -> list[str]:
    """Shapes of lines that neither a real log nor the engine's source (by the scripts' own account) holds."""
    known, cited = real_shapes(), [*(_bare(line) for line in sglang.FROM_SOURCE), *vllm.FROM_SOURCE]
    shapes = dict.fromkeys(_bare(line) for line in lines if line.strip())
    return [one for one in shapes if one not in known and not any(words in one for words in cited)]


def _bare(line: str) -> str:
    """The shape without what every launch has of its own: names, values of arguments, list of sizes."""
    line = shape(line)
    line = re.sub(r"(server_args=ServerArgs)\(.*", r"\1", line)
    line = re.sub(r'"(?:GET|POST) [\w/]+ HTTP/#" # [\w ]+', '"REQUEST"', line)
    return re.sub(r"(non-default args: |with config: ).*?(speculative_config=\w+|$).*", r"\1\2", line)
