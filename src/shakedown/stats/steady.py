"""The part of a load point in which all slots were busy: ramp-up and drain cut off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shakedown.domain.request import RequestRecord

MIN_SHARE = 2 / 3
"""A steady state shorter than this share of the point says less than the whole of it."""
MIN_ROUNDS = 2.0
"""So many requests per slot must have ended within it, or phases of prefill and decode would weigh by chance."""


@dataclass(frozen=True, slots=True)
class Window:
    """A span of the clock, nanoseconds."""

    start_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end_ns - self.start_ns) / 1e9


def whole_window(records: Sequence[RequestRecord]) -> Window | None:
    """From the first send to the last end; None without requests that were sent and ended."""
    sent = [record.sent_ns for record in records if record.sent_ns and record.end_ns]
    if not sent:
        return None
    return Window(min(sent), max(record.end_ns for record in records if record.sent_ns and record.end_ns))


def steady_window(records: Sequence[RequestRecord], concurrency: int | None) -> Window | None:
    """The steady state, or None if the point is too short to have one.

    Closed loop: from the moment when ``concurrency`` requests were first in flight to the last moment at which they
    were. Open loop: from one median latency after the first send (the server has filled) to the last send.
    """
    whole = whole_window(records)
    if whole is None or whole.seconds <= 0:
        return None
    steady = _closed(records, concurrency) if concurrency is not None else _open(records, whole)
    if steady is None or steady.seconds < MIN_SHARE * whole.seconds:
        return None
    ended = sum(1 for record in records if record.ok and steady.start_ns <= record.end_ns <= steady.end_ns)
    return steady if ended >= MIN_ROUNDS * (concurrency or 1) else None


def _closed(records: Sequence[RequestRecord], concurrency: int) -> Window | None:
    times = np.array([record.sent_ns for record in records] + [record.end_ns for record in records], dtype=np.int64)
    steps = np.concatenate((np.ones(len(records), np.int64), -np.ones(len(records), np.int64)))
    # At the same instant an end comes before the send that it made room for.
    order = np.lexsort((steps, times))
    flying = np.cumsum(steps[order])
    full = np.flatnonzero(flying >= concurrency)
    if not len(full):
        return None
    last = min(int(full[-1]) + 1, len(order) - 1)
    return Window(int(times[order[full[0]]]), int(times[order[last]]))


def _open(records: Sequence[RequestRecord], whole: Window) -> Window | None:
    latencies = [record.end_ns - record.sent_ns for record in records if record.ok]
    if not latencies:
        return None
    last_send = max(record.sent_ns for record in records if record.sent_ns)
    start = whole.start_ns + int(np.median(latencies))
    return Window(start, last_send) if last_send > start else None


def tokens_within(records: Sequence[RequestRecord], window: Window) -> float:
    """Output tokens of ok requests that arrived inside the window.

    Where events do not say how many tokens they brought, a request's tokens are spread evenly over its events.
    """
    total = 0.0
    for record in records:
        events = len(record.arrivals_ns)
        if not record.ok or not events or not record.output_tokens:
            continue
        arrivals = np.frombuffer(record.arrivals_ns, dtype=np.int64)
        first, last = np.searchsorted(arrivals, (window.start_ns, window.end_ns + 1))
        if record.event_tokens:
            total += sum(record.event_tokens[int(first) : int(last)])
        elif record.streamed:
            total += record.output_tokens * float(last - first) / events
        else:
            total += record.output_tokens * _overlap(record, window)
    return total


def _overlap(record: RequestRecord, window: Window) -> float:
    """Share of a request's time inside the window: all that is known of an answer that came in one body."""
    inside = min(record.end_ns, window.end_ns) - max(record.sent_ns, window.start_ns)
    return max(0.0, inside / max(1, record.end_ns - record.sent_ns))
