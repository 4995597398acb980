"""Whether a booting server still makes progress: a stall limit instead of one fixed timeout.

Loading 400 GB from a slow disk takes longer than any timeout that would catch a hang in time. A boot that goes on
writes lines, uses CPU, reads files, starts processes or grows in memory; one that hangs does none of these. A
collective that waits for a rank which never comes spins: it uses CPU and does nothing else, which is a hang in the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from shakedown.launch.process_tree import descendants

_BUSY_CORES = 0.05
"""CPU use below this is an idle process that wakes up now and then."""
_GROWTH_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process tree has used so far."""

    at_s: float
    cpu_s: float
    memory_bytes: int
    read_bytes: int
    pids: frozenset[int] = frozenset()


class StallClock:
    """Tells for how long there was no progress. Times are seconds on one monotonic clock."""

    def __init__(self, now_s: float) -> None:
        self._progress_at_s = self._sign_at_s = now_s
        self._last: Usage | None = None

    def output(self, now_s: float) -> None:
        """Note that something was written."""
        self._progress_at_s = self._sign_at_s = now_s

    def usage(self, usage: Usage) -> None:
        """Note what the tree has used; more than an idle tree's trickle since the last call is progress."""
        last, self._last = self._last, usage
        if last is None or usage.at_s <= last.at_s:
            return
        cores = (usage.cpu_s - last.cpu_s) / (usage.at_s - last.at_s)
        grown = max(usage.memory_bytes - last.memory_bytes, usage.read_bytes - last.read_bytes)
        if grown >= _GROWTH_BYTES or usage.pids - last.pids:
            self._progress_at_s = self._sign_at_s = usage.at_s
        elif cores >= _BUSY_CORES:
            self._progress_at_s = usage.at_s

    def stalled_s(self, now_s: float) -> float:
        """Seconds since the last progress."""
        return now_s - self._progress_at_s

    def spinning_s(self, now_s: float) -> float:
        """Seconds since the last progress that was more than the use of CPU."""
        return now_s - self._sign_at_s


def tree_usage(root: int, now_s: float) -> Usage:
    """Add up what the processes below ``root`` have used; one that ends meanwhile is left out."""
    cpu_s, memory_bytes, read_bytes = 0.0, 0, 0
    pids = descendants(root)
    for pid in pids:
        try:
            process = psutil.Process(pid)
            times = process.cpu_times()
            cpu_s += times.user + times.system
            memory_bytes += process.memory_info().rss
            read_bytes += process.io_counters().read_chars
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return Usage(at_s=now_s, cpu_s=cpu_s, memory_bytes=memory_bytes, read_bytes=read_bytes, pids=frozenset(pids))
