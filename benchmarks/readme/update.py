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
BLOCK = re.compile(r"(<!-- demo output:[^\n]*-->\n).*?(<!-- end demo output -->)", re.DOTALL)
FOLDED_FROM = "Why the others lost"
"""What follows is evidence: a reader of the page opens it if the verdict made him curious."""


def main() -> None:
    out = StringIO()
    render(open_result(Path(sys.argv[1])), Console(file=out, width=WIDTH))
    text = "\n".join(line.rstrip() for line in out.getvalue().strip().splitlines())
    shown, folded, rest = text.partition(FOLDED_FROM)
    block = f"```\n{shown.rstrip()}\n```\n\n"
    if folded:
        block += (
            f"<details><summary>{folded}, findings, load points</summary>\n\n```\n{folded}{rest}\n```\n\n</details>\n"
        )
    readme = README.read_text(encoding="utf-8")
    README.write_text(BLOCK.sub(lambda match: f"{match[1]}{block}{match[2]}", readme), encoding="utf-8")


if __name__ == "__main__":
    main()
