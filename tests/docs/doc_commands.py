"""Finds the commands that the README and the how-tos tell people to type."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs" / "gates.md", *sorted((ROOT / "docs").glob("how-to-*.md"))]

_BLOCK = re.compile(r"^```(sh|yaml|)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`(shakedown [^`\n]+)`(?!`)")
_CRON = re.compile(r"(?:[\d*/,-]+ ){5}\s*(.+)")
_PROGRAMS = ("shakedown", "make", "sh", "systemd-analyze", "kubectl", "promtool", "pip")


@dataclass(frozen=True)
class Told:
    """One command as it is told; ``whole`` is False for one named in passing, which need not be complete."""

    page: str
    text: str
    whole: bool

    def __str__(self) -> str:
        return f"{self.page}: {self.text}"


def told(page: Path) -> Iterator[Told]:
    """Every command of a page, those of its blocks in their order first."""
    text = page.read_text(encoding="utf-8")
    for block in _BLOCK.finditer(text):
        for line in block[2].splitlines():
            command = _command(line, yaml=block[1] == "yaml")
            if command is not None:
                yield Told(page.name, command, whole=True)
    for inline in _INLINE.finditer(_BLOCK.sub("", text)):
        yield Told(page.name, inline[1], whole=False)


def _command(line: str, *, yaml: bool) -> str | None:
    if yaml:
        found = re.search(r"run: (shakedown .*)", line)
        return found[1] if found else None
    cron = _CRON.fullmatch(line)
    # What stands behind two spaces says what the command does.
    words = cron[1] if cron else re.split(r"\s{2,}", line.strip())[0]
    return words if re.match(rf"({'|'.join(_PROGRAMS)}) [^\[(=]", words) and not re.match(r"\w+=", words) else None
