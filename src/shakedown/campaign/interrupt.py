"""Turns Ctrl-C, SIGTERM and a closed terminal into one orderly stop."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupt:
    """Whether a stop was asked for; ``on_stop`` is called within the signal handler, once for each signal."""

    def __init__(self) -> None:
        self.requested = False
        self.on_stop: Callable[[], None] | None = None

    def stop(self) -> None:
        """Ask for a stop."""
        self.requested = True
        if self.on_stop is not None:
            self.on_stop()


@contextmanager
def stop_signals() -> Iterator[Interrupt]:
    """Catch the stop signals for the length of a block; the handlers before it come back afterwards.

    Only the main thread may use it.
    """
    interrupt = Interrupt()

    def handle(_number: int, _frame: FrameType | None) -> None:
        interrupt.stop()

    before = {number: signal.signal(number, handle) for number in STOP_SIGNALS}
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
