"""Pictures of the report for the README.

Run it: ``python -m benchmarks.report.screenshots DIR [--out docs/images]``.

DIR is a campaign's results folder (or its result.json). Needs the extra ``browser`` and a Chromium on the PATH. Prints
how long the page takes to load, for the pictures show it as a reader sees it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from shakedown.interchange.opened import open_result
from shakedown.report.html import render

SHARP = 1.5
"""Pixels per unit, for dense screens."""
LOAD_TIME = "() => performance.getEntriesByType('navigation')[0].loadEventEnd"


def top(page: Page, out: Path, name: str) -> None:
    page.screenshot(path=out / f"{name}.png")


def section(page: Page, out: Path, name: str) -> None:
    page.locator(f"#{name}").screenshot(path=out / f"report-{name}.png")


def take(page_file: Path, out: Path, chromium: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, options in {
            "report": {"viewport": {"width": 1280, "height": 860}},
            "report-dark": {"viewport": {"width": 1280, "height": 860}, "color_scheme": "dark"},
            "report-phone": {"viewport": {"width": 390, "height": 844}},
        }.items():
            page = browser.new_context(device_scale_factor=SHARP, **options).new_page()
            page.goto(page_file.as_uri())
            page.wait_for_load_state("networkidle")
            print(f"{name}: loaded in {page.evaluate(LOAD_TIME):.0f} ms")
            top(page, out, name)
            if name == "report":
                for part in ("candidates", "pictures"):
                    section(page, out, part)
        browser.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    given = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("no Chromium on the PATH: apt-get install chromium", file=sys.stderr)
        return 2
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page_file = Path(folder) / "report.html"
        page_file.write_text(render(open_result(given.folder)), encoding="utf-8")
        take(page_file, given.out, chromium)
    return 0


if __name__ == "__main__":
    sys.exit(main())
