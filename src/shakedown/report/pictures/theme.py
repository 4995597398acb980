"""Colours and type of page and pictures: one palette for light and one for dark, and pictures that stand alone.

Text colours hold a contrast of 4.5 to 1 against the paper, marks 3 to 1 (WCAG 2.2, 1.4.3 and 1.4.11). No meaning is
carried by colour alone: marks tell their verdict in words, and failures have another shape in the tables.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from shakedown.report.pictures.draw import Panel, text

LIGHT = {
    "paper": "#ffffff",
    "well": "#f5f6f8",
    "hot": "#e9f3ef",
    "ink": "#15181e",
    "soft": "#565e6c",
    "edge": "#8a92a0",
    "faint": "#aeb5c0",
    "line": "#e3e6eb",
    "link": "#0b5cad",
    "focus": "#2f7fd6",
    "best": "#08734f",
    "best-text": "#08734f",
    "equal": "#3f9c78",
    "open": "#a87100",
    "slower": "#7d8695",
    "failed": "#b3261e",
    "failed-text": "#b3261e",
    "inaccurate": "#c2410c",
    "pruned": "#868e9c",
}
DARK = {
    "paper": "#14171c",
    "well": "#1c2027",
    "hot": "#1b2c28",
    "ink": "#eceff3",
    "soft": "#a6aebb",
    "edge": "#6b7482",
    "faint": "#4b5360",
    "line": "#2b3039",
    "link": "#7db7f5",
    "focus": "#7db7f5",
    "best": "#3ecf97",
    "best-text": "#3ecf97",
    "equal": "#7fb89f",
    "open": "#e0ac3b",
    "slower": "#7f8897",
    "failed": "#f0766d",
    "failed-text": "#f0766d",
    "inaccurate": "#f2935c",
    "pruned": "#7f8897",
}


@cache
def template(name: str) -> str:
    """Text of a file of the package's templates."""
    return files("shakedown.report").joinpath("templates", name).read_text(encoding="utf-8")


def variables() -> str:
    """The palettes as CSS: the reader's scheme, unless the page's button chose the other; paper is always light."""
    light, dark = _declare(LIGHT), _declare(DARK)
    return (
        f":root {{ {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        f"@media screen {{ :root[data-theme=light] {{ {light} color-scheme: light; }} "
        f":root[data-theme=dark] {{ {dark} color-scheme: dark; }} }}\n"
    )


def _declare(palette: dict[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in palette.items())


def standalone(panel: Panel) -> str:
    """A panel as an SVG file of its own: light colours, its title drawn in, no style sheet needed.

    Renderers outside browsers know no CSS variables, so colours are written where they are used.
    """
    head, _, body = str(panel.svg).partition(">")
    box = re.search(r'viewBox="0 0 (\S+) (\S+)"', head)
    assert box is not None
    width, height = float(box.group(1)) + 24, float(box.group(2)) + 46
    head = head.replace(box.group(0), f'viewBox="-12 -34 {width:g} {height:g}"')
    title = text(0, -14, panel.title, "name")
    paper = f'<rect x="-12" y="-34" width="{width:g}" height="{height:g}" fill="{LIGHT["paper"]}"/>'
    style = re.sub(r"var\(--([\w-]+)\)", lambda found: LIGHT[found.group(1)], template("picture.css"))
    return f"{head}><style>{style}</style>{paper}{title}{body}"
