"""The one clock. Every duration and every arrival is taken from it; wall time is only for people."""

from __future__ import annotations

import time

now_ns = time.perf_counter_ns
"""Monotonic nanoseconds, comparable within a process (on Linux: within a machine, it reads CLOCK_MONOTONIC)."""


def wall_time() -> float:
    """Seconds since the epoch."""
    return time.time()
