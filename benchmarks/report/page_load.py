"""How long the report's page of 200 candidates x 10 load points takes to load in a real Chromium.

Run it on a machine at rest: ``python -m benchmarks.report.page_load [--update]``; ``--update`` puts the figures into
docs/benchmarks.md. Needs the extra ``browser`` and a Chromium on the PATH. Each load has a browser of its own, with
nothing cached; loaded means: the load event is over, and a frame after it was painted.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from tests.unit.report.sample_results import large_result

from shakedown.report.html import render

LOADS = 7
PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
PAINTED = """() => new Promise(done => {
  const ended = performance.getEntriesByType('navigation')[0].loadEventEnd;
  requestAnimationFrame(() => requestAnimationFrame(() => done([ended, performance.now()])));
})"""


def measure(page_file: Path, chromium: str) -> list[tuple[float, float]]:
    """Milliseconds from navigation to the end of the load event, and to the next painted frame."""
    found = []
    with sync_playwright() as playwright:
        for _ in range(LOADS):
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(page_file.as_uri(), wait_until="load")
            ended, painted = page.evaluate(PAINTED)
            found.append((ended, painted))
            browser.close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    given = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("no Chromium on the PATH: apt-get install chromium", file=sys.stderr)
        return 2
    result = large_result()
    points = max(len({(p.workload, p.concurrency) for p in c.points}) for c in result.candidates)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        file.write_text(render(result), encoding="utf-8")
        size = file.stat().st_size
        loads = measure(file, chromium)
    ended, painted = (sorted(values) for values in zip(*loads, strict=True))
    line = (
        f"{len(result.candidates)} candidates x {points} load points, {size / 1e6:.2f} MB: load event over after "
        f"{statistics.median(ended):.0f} ms (slowest of {LOADS}: {ended[-1]:.0f} ms), painted after "
        f"{statistics.median(painted):.0f} ms (slowest: {painted[-1]:.0f} ms)."
    )
    print(line)
    if given.update:
        block = re.compile(r"(<!-- page load -->\n).*?(<!-- end page load -->)", re.DOTALL)
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(block.sub(lambda match: f"{match[1]}{line}\n{match[2]}", text), encoding="utf-8")
    return 0 if painted[-1] < 2000 else 1


if __name__ == "__main__":
    sys.exit(main())
