"""The throughput-latency picture of a load sweep, as SVG and PNG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shakedown.domain.metric import PointSummary

MIN_POINTS = 2


def write_curve(points: list[PointSummary], folder: Path) -> None:
    """Write ``curve.svg`` and ``curve.png``; nothing for fewer than two points, which make no curve."""
    rows = [
        {
            "load": f"C {point.concurrency}" if point.concurrency is not None else f"{point.request_rate or 0:g}/s",
            "order": point.concurrency or point.request_rate or 0,
            "throughput": point.output_tokens_per_s,
            "latency": point.e2el_s.mean,
        }
        for point in points
        if point.output_tokens_per_s is not None and point.e2el_s is not None
    ]
    if len(rows) < MIN_POINTS:
        return
    import altair as alt

    base = alt.Chart(alt.Data(values=rows)).encode(  # type: ignore[no-untyped-call] # altair's gap
        x=alt.X("latency:Q", title="end-to-end latency, mean (s)"),
        y=alt.Y("throughput:Q", title="output tokens per second"),
    )
    line = base.mark_line(point=True).encode(order="order:Q")
    names = base.mark_text(align="left", dx=6, dy=-6).encode(text="load:N")
    chart = (line + names).properties(width=520, height=320, title="Throughput and latency by load")
    for suffix in ("svg", "png"):
        chart.save(str(folder / f"curve.{suffix}"))
