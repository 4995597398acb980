"""Who descends from whom, read from /proc. Standard library only: the guardian imports this."""

from __future__ import annotations

from pathlib import Path

_PROC = Path("/proc")


def descendants(root: int) -> list[int]:
    """Return the process ids below ``root``, zombies left out, parents before their children."""
    children: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and (stat := _stat(int(entry.name))):
            children.setdefault(int(stat[1]), []).append(int(entry.name))
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        waiting.extend(below)
        found.extend(below)
    return [pid for pid in found if is_alive(pid)]


def is_alive(pid: int, start_ticks: int | None = None) -> bool:
    """Whether ``pid`` runs (a zombie does not); with ``start_ticks``, whether it is still that very process."""
    stat = _stat(pid)
    return stat is not None and stat[0] not in "ZX" and start_ticks in (None, int(stat[19]))


def start_ticks(pid: int) -> int | None:
    """Return when ``pid`` started, in clock ticks since boot: with the id, it names a process for ever."""
    stat = _stat(pid)
    return int(stat[19]) if stat else None


def _stat(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat from ``state`` on (proc(5): the name before may hold spaces and brackets)."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()
