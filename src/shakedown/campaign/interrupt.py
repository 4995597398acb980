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
        self.hung_up = False
        """The stop is no order but the end of a terminal: what can go on by itself may."""
        self.on_stop: Callable[[], None] | None = None

    def stop(self, *, hung_up: bool = False) -> None:
        """Ask for a stop; a later order outweighs a terminal that closed."""
        self.hung_up = hung_up and (self.hung_up or not self.requested)
        self.requested = True
        if self.on_stop is not None:
            self.on_stop()


@contextmanager
def stop_signals() -> Iterator[Interrupt]:
    """Catch the stop signals for the length of a block; the handlers before it come back afterwards.

    Only the main thread may use it.
    """
    interrupt = Interrupt()

    def handle(number: int, _frame: FrameType | None) -> None:
        interrupt.stop(hung_up=number == signal.SIGHUP)

    before = {number: signal.signal(number, handle) for number in STOP_SIGNALS}
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
