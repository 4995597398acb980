"""A timer that fires to the microsecond inside an event loop; the loop's own has whole milliseconds only."""

from __future__ import annotations

import asyncio
import ctypes
import os
from collections.abc import Callable

_CLOCK_MONOTONIC = 1
_ABSOLUTE = 1
_NONBLOCK_CLOEXEC = os.O_NONBLOCK | os.O_CLOEXEC


class _Itimerspec(ctypes.Structure):
    """``struct itimerspec``: interval and first expiry, each seconds and nanoseconds (timerfd_create(2))."""

    _fields_ = (
        ("interval_s", ctypes.c_long),
        ("interval_ns", ctypes.c_long),
        ("value_s", ctypes.c_long),
        ("value_ns", ctypes.c_long),
    )


class PreciseTimer:
    """Calls ``on_due`` in the loop when CLOCK_MONOTONIC reaches the set time (``timerfd``, Linux).

    Python has ``os.timerfd_create`` from 3.13 on; until that is the oldest supported one, this goes to the C library.

    Raises:
        OSError: if the system has no timerfd.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, on_due: Callable[[], None]) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.timerfd_create(_CLOCK_MONOTONIC, _NONBLOCK_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._loop = loop
        self._on_due = on_due
        loop.add_reader(self._fd, self._fired)

    def set(self, due_ns: int) -> None:
        """Fire once at ``due_ns``, at once if that is past."""
        due_ns = max(due_ns, 1)  # zero would disarm
        spec = _Itimerspec(0, 0, due_ns // 1_000_000_000, due_ns % 1_000_000_000)
        if self._libc.timerfd_settime(self._fd, _ABSOLUTE, ctypes.byref(spec), None) != 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime")

    def _fired(self) -> None:
        try:
            os.read(self._fd, 8)
        except BlockingIOError:
            return
        self._on_due()

    def close(self) -> None:
        """Stop and free the descriptor."""
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
