"""SVG elements as safe markup, and the frame that every picture has: title, axes, grid, legend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.domain.units import printable
from shakedown.domain.words import Standing, Verdict
from shakedown.report.pictures.scale import Scale

WIDTH = 560.0
HEIGHT = 340.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 16.0, 14.0, 46.0


@dataclass(frozen=True, slots=True)
class Panel:
    """One drawing with the title a reader sees above it; ``broad`` ones take the whole width of the page."""

    title: str
    svg: Markup
    broad: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """A kind of picture: ``draw`` returns its panels, none where the result holds nothing for it."""

    name: str
    title: str
    caption: str
    order: int
    draw: Callable[[CampaignResult], Sequence[Panel]]


def tag(name: str, *children: str | Markup, **attributes: str | float | None) -> Markup:
    """One element. Text and values are escaped; an underscore in a name is a hyphen, ``class_`` is ``class``."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if not children:
        return Markup(f"<{name}{written}/>")  # noqa: S704 - names are ours, values were escaped
    inner = "".join(child if isinstance(child, Markup) else escape(printable(child)) for child in children)
    return Markup(f"<{name}{written}>{inner}</{name}>")  # noqa: S704 - names are ours, the rest was escaped


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return escape(printable(value))
    return f"{value:g}" if abs(value) < 1e5 else f"{value:.1f}"


def text(x: float, y: float, words: str, class_: str = "axis", anchor: str = "start") -> Markup:
    """Words at a place."""
    return tag("text", words, x=x, y=y, class_=class_, text_anchor=None if anchor == "start" else anchor)


def line(x1: float, y1: float, x2: float, y2: float, class_: str = "grid") -> Markup:
    """A straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(points: Iterable[tuple[float, float]], class_: str) -> Markup:
    """Straight lines through ``points``."""
    return tag("polyline", points=" ".join(f"{x:g},{y:g}" for x, y in points), class_=class_)


def group(candidate: CandidateResult, *children: Markup, class_: str = "series") -> Markup:
    """All marks of one candidate: the page lights them up together, and puts ``data-name`` before what a mark says."""
    name = candidate.label or candidate.id
    return tag("g", *children, class_=f"{class_} {role(candidate)}", data_c=candidate.id, data_name=name)


def mark(x: float, y: float, words: str, radius: float = 3.5) -> Markup:
    """A point that says what it is when pointed at or read aloud."""
    return tag("circle", tag("title", words), cx=x, cy=y, r=radius)


def role(candidate: CandidateResult) -> str:
    """The class that colours a candidate: its standing if it has one, else whether it failed."""
    if candidate.standing is not None:
        return {
            Standing.BEST: "best",
            Standing.EQUIVALENT: "equal",
            Standing.SLOWER: "slower",
            Standing.INCONCLUSIVE: "open",
        }[candidate.standing.status]
    return {Verdict.INACCURATE: "inaccurate", Verdict.PRUNED: "pruned", Verdict.NOT_RUN: "pruned"}.get(
        candidate.verdict, "slower" if candidate.verdict is Verdict.QUALIFIED else "failed"
    )


def paint_order(candidates: Iterable[CandidateResult], reference: str | None) -> list[CandidateResult]:
    """Context first, then the reference, the best last: what matters lies on top."""
    weight = {"best": 3, "equal": 1, "open": 1}
    return sorted(candidates, key=lambda c: 2 if c.id == reference else weight.get(role(c), 0))


def frame(
    x: Scale,
    y: Scale,
    *,
    x_title: str,
    y_title: str,
    write_x: Callable[[float], str],
    write_y: Callable[[float], str],
    x_ticks: Sequence[float] | None = None,
) -> Markup:
    """Grid, axes and their titles; the y title lies above the axis, where it can be read without turning the head."""
    parts = [text(0, TOP - 2, y_title, "axis-title")]
    for value in y.ticks():
        parts += [
            line(LEFT, y(value), WIDTH - RIGHT, y(value)),
            text(LEFT - 8, y(value) + 4, write_y(value), anchor="end"),
        ]
    for value in x.ticks() if x_ticks is None else x_ticks:
        parts += [
            line(x(value), HEIGHT - BOTTOM, x(value), HEIGHT - BOTTOM + 4, "tick"),
            text(x(value), HEIGHT - BOTTOM + 18, write_x(value), anchor="middle"),
        ]
    parts += [
        line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "base"),
        text(WIDTH - RIGHT, HEIGHT - 6, x_title, "axis-title", anchor="end"),
    ]
    return tag("g", *parts, aria_hidden="true")


def svg(label: str, *children: Markup, height: float = HEIGHT, width: float = WIDTH) -> Markup:
    """The drawing itself; ``label`` is what a screen reader says of it."""
    return tag(
        "svg",
        *children,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=label,
        xmlns="http://www.w3.org/2000/svg",
    )


def tick_number(value: float) -> str:
    """A number beside an axis: no digits that say nothing."""
    return f"{value:,.10g}"


def tick_latency(seconds: float) -> str:
    """A latency beside an axis."""
    if seconds == 0:
        return "0"
    if seconds < 1e-3:
        return f"{seconds * 1e6:.6g} µs"
    return f"{seconds * 1e3:.6g} ms" if seconds < 1 else f"{seconds:,.6g} s"


def shorten(label: str, most: int) -> str:
    """Cut a label to ``most`` characters, with an ellipsis where something was cut."""
    return label if len(label) <= most else label[: most - 1] + "…"
