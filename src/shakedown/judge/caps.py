"""How many requests a server really runs at once."""

from __future__ import annotations

from shakedown.judge.view import Judged


def cap_of(judged: Judged, candidate_id: str) -> tuple[int, str] | None:
    """Requests at once and how that is known: read back from the settings, or seen in running and queued requests."""
    said = judged.effective(candidate_id, "max_running_requests")
    if isinstance(said, int | float) and said > 0:
        return int(said), "effective settings"
    seen = [
        point.counters.running_max
        for point in judged.points(candidate_id)
        if point.counters.running_max
        and point.counters.queued_max
        and point.concurrency
        and point.counters.running_max < point.concurrency
    ]
    return (int(max(seen)), "running and queued requests during load") if seen else None
