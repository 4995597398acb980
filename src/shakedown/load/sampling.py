"""The server's counters around a load point: a reading before, one after, gauges about once a second between."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from shakedown.domain.metric import CounterWindow

_CUMULATIVE = ("prompt_tokens", "generated_tokens", "drafts", "drafted_tokens", "accepted_tokens", "finished_requests",
               "preemptions")  # fmt: skip
_GAUGES = ("running_max", "queued_max", "kv_usage_max")

Sampler = Callable[[], CounterWindow | None]


class CounterSampling:
    """Samples in a thread of the generator, whose work happens in other processes; ``window`` is there after exit.

    Args:
        sample: gives cumulative counters and present gauges, or None when the server does not answer; None: nothing to
            sample.
        interval_s: pause between readings of the gauges.
    """

    def __init__(self, sample: Sampler | None, interval_s: float = 1.0) -> None:
        self.window = CounterWindow()
        self._sample = sample
        self._interval_s = interval_s
        self._stop = threading.Event()
        self._readings: list[CounterWindow] = []
        self._first: CounterWindow | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="load-counters")

    def __enter__(self) -> Self:
        if self._sample is not None:
            self._first = self._sample()
            self._thread.start()
        return self

    def _run(self) -> None:
        assert self._sample is not None
        while not self._stop.wait(self._interval_s):
            reading = self._sample()
            if reading is not None:
                self._readings.append(reading)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._sample is not None:
            self._stop.set()
            self._thread.join()
            self.window = counter_window(self._first, self._readings, self._sample())


def counter_window(
    first: CounterWindow | None, between: list[CounterWindow], last: CounterWindow | None
) -> CounterWindow:
    """Differences of what is cumulative, maxima of what is a gauge; None where the server has none.

    A counter that went backwards (the server was started anew) has no difference.
    """
    seen = [reading for reading in (first, *between, last) if reading is not None]
    values: dict[str, object] = {}
    for name in _GAUGES:
        readings = [value for reading in seen if (value := getattr(reading, name)) is not None]
        values[name] = max(readings, default=None)
    lengths = [reading.accept_length for reading in seen[1:] if reading.accept_length]  # the first one is of before
    values["accept_length"] = sum(lengths) / len(lengths) if lengths else None
    if first is not None and last is not None:
        for name in _CUMULATIVE:
            values[name] = _difference(getattr(first, name), getattr(last, name))
        values["accepted_per_position"] = _per_position(first.accepted_per_position, last.accepted_per_position)
    return CounterWindow.model_validate(values)


def _difference(before: float | None, after: float | None) -> float | None:
    if after is None:
        return None
    change = after - (before or 0.0)
    return change if change >= 0 else None


def _per_position(before: tuple[float, ...] | None, after: tuple[float, ...] | None) -> tuple[float, ...] | None:
    if after is None:
        return None
    start = (before or ()) + (0.0,) * len(after)
    changes = tuple(late - early for early, late in zip(start, after, strict=False))
    return changes if all(change >= 0 for change in changes) else None
