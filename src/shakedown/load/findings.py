"""What has to be said about load points so that nobody believes too much: one plain sentence each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shakedown.domain.metric import PointSummary
from shakedown.domain.request import RequestError
from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.domain.workload import Workload

EARLY_STOP_SHARE = 0.02
"""Below this share of requests a shorter answer changes no figure."""


def point_findings(points: Sequence[PointSummary], workload: Workload) -> list[Finding | None]:
    """Look at all points of one server; None for what is as it should be."""
    return [
        _over(points, FindingKind.CLIENT_LIMITED, lambda point: bool(point.client.limited), _client_limited),
        _over(points, FindingKind.ERRORS_UNDER_LOAD, lambda point: bool(_failures(point)), _errors),
        _over(points, FindingKind.SATURATED, lambda point: point.stop_reason == "saturation", _saturated),
        _over(points, FindingKind.PROMPTS_REPEATED, lambda point: point.repeated_prompts > 0, _repeated),
        _over(points, FindingKind.EARLY_STOPS, _stops_early if workload.ignore_eos else _never, _early),
        _over(points, FindingKind.SILENT_CAP, _capped, _cap),
    ]


def _over(
    points: Sequence[PointSummary],
    kind: FindingKind,
    applies: Callable[[PointSummary], bool],
    say: Callable[[Sequence[PointSummary]], tuple[str, str]],
) -> Finding | None:
    concerned = [point for point in points if applies(point)]
    if not concerned:
        return None
    summary, advice = say(concerned)
    return Finding(
        kind=kind, summary=summary, advice=advice, evidence={"points": [level(point) for point in concerned]}
    )


def level(point: PointSummary) -> str:
    """A point's load in a word: ``concurrency 16`` or ``2.5 requests/s``."""
    if point.concurrency is not None:
        return f"concurrency {point.concurrency}"
    return f"{point.request_rate:g} requests/s" if point.request_rate is not None else "trace"


def _levels(points: Sequence[PointSummary]) -> str:
    return ", ".join(level(point) for point in points)


def _client_limited(points: Sequence[PointSummary]) -> tuple[str, str]:
    return (
        f"The client was late or busy at {_levels(points)}: latencies there are partly its own.",
        "Give the client cores of its own, or more of them with --workers, and measure again.",
    )


def _failures(point: PointSummary) -> dict[str, int]:
    """Errors of the server; what was given up because the point was cut short is none."""
    return {name: count for name, count in point.errors.items() if name != RequestError.CANCELLED}


def _saturated(points: Sequence[PointSummary]) -> tuple[str, str]:
    return (
        f"The server fell further and further behind at {_levels(points)}; the point was cut short.",
        "Its latencies are those of a growing queue; look at rates below it.",
    )


def _errors(points: Sequence[PointSummary]) -> tuple[str, str]:
    total: dict[str, int] = {}
    for point in points:
        for name, count in _failures(point).items():
            total[name] = total.get(name, 0) + count
    listed = ", ".join(f"{count} {name}" for name, count in total.items())
    return f"Requests failed at {_levels(points)}: {listed}.", "Look into the server's log at the time of the load."


def _repeated(points: Sequence[PointSummary]) -> tuple[str, str]:
    count = sum(point.repeated_prompts for point in points)
    return (
        f"{count} prompts had been sent to this server before: a prefix cache may have answered them.",
        "Use a longer file of prompts, fewer requests, or prompts made by 'text'.",
    )


def _never(point: PointSummary) -> bool:
    del point
    return False


def _stops_early(point: PointSummary) -> bool:
    return point.early_stops > EARLY_STOP_SHARE * max(1, point.ok)


def _early(points: Sequence[PointSummary]) -> tuple[str, str]:
    count, ok = sum(point.early_stops for point in points), sum(point.ok for point in points)
    return (
        f"{count} of {ok} answers ended before the asked number of tokens: the server does not honour ignore_eos.",
        "Compare tokens per second, not wall times; points with different token counts are different work.",
    )


def _capped(point: PointSummary) -> bool:
    running = point.counters.running_max
    queued = point.counters.queued_max
    return point.concurrency is not None and running is not None and bool(queued) and running < point.concurrency


def _cap(points: Sequence[PointSummary]) -> tuple[str, str]:
    most = max(point.counters.running_max or 0 for point in points)
    return (
        f"The server never ran more than {most:g} requests at once at {_levels(points)}; the others queued.",
        "Raise the server's limit on running requests, or compare only concurrencies below it.",
    )
