"""Put the terminal output of a real campaign into the README.

Run it: ``python -m benchmarks.readme.update demo-result``.
"""

from __future__ import annotations

import re
import sys
from io import StringIO
from pathlib import Path

from rich.console import Console

from shakedown.interchange.opened import open_result
from shakedown.report.terminal import render

WIDTH = 118
README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"(<!-- demo output:[^\n]*-->\n```\n).*?(```)", re.DOTALL)


def main() -> None:
    out = StringIO()
    render(open_result(Path(sys.argv[1])), Console(file=out, width=WIDTH))
    text = "\n".join(line.rstrip() for line in out.getvalue().strip().splitlines())
    readme = README.read_text(encoding="utf-8")
    README.write_text(BLOCK.sub(lambda match: f"{match[1]}{text}\n{match[2]}", readme), encoding="utf-8")


if __name__ == "__main__":
    main()
