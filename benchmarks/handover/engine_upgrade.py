"""What CI would say of an engine that lost half of its threads, and of one that did not change.

Run it: ``python -m benchmarks.handover.engine_upgrade FOLDER [--update]``.

Runs ``examples/engine-ci.toml`` twice as it is and once with one thread instead of two, on the embedded llama.cpp,
compares, and with ``--update`` puts the two comments into docs/how-to-compare.md. Leaves with 1 unless the unchanged
engine is equal (exit code 0) and the slower one a regression (exit code 4).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CAMPAIGN = ROOT / "examples" / "engine-ci.toml"
PAGE = ROOT / "docs" / "how-to-compare.md"
SHAKEDOWN = [sys.executable, "-m", "shakedown"]


def run(folder: Path, threads: int) -> None:
    """Run the campaign with so many threads into a folder."""
    campaign = folder.with_suffix(".toml")
    campaign.write_text(CAMPAIGN.read_text().replace("threads = 2", f"threads = {threads}"))
    subprocess.run([*SHAKEDOWN, "run", str(campaign), "--out", str(folder)], check=True, stdout=subprocess.DEVNULL)


def compare(before: Path, after: Path, out: Path) -> int:
    """Write the comment; return the exit code."""
    return subprocess.run([*SHAKEDOWN, "compare", str(before), str(after), "--out", str(out)], check=False).returncode


def update(name: str, text: str) -> None:
    block = re.compile(rf"(<!-- {name}: [^\n]*-->\n).*?(<!-- end {name} -->)", re.DOTALL)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(block.sub(lambda found: f"{found[1]}\n{text}\n{found[2]}", page), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--update", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    codes = {}
    for name, threads in (("main", 2), ("unchanged", 2), ("one-thread", 1)):
        run(given.folder / name, threads)
        if name != "main":
            comment = given.folder / f"{name}.md"
            codes[name] = compare(given.folder / "main", given.folder / name, comment)
            print(comment.read_text())
            if given.update:
                update(name, comment.read_text())
    print(codes)
    return 0 if codes == {"unchanged": 0, "one-thread": 4} else 1


if __name__ == "__main__":
    sys.exit(main())
