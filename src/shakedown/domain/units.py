"""Quantities as people write them: durations in, durations and sizes out."""

from __future__ import annotations

import re

_UNIT_S = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|min|s|m|h|d)\s*")


def parse_duration_s(text: str | float) -> float:
    """Read ``"8h"``, ``"1h30m"``, ``"50ms"`` or a bare number of seconds.

    Raises:
        ValueError: if it is neither, or not positive.
    """
    if isinstance(text, int | float) and not isinstance(text, bool):
        seconds = float(text)
    else:
        written = str(text).strip()
        parts = list(_PART.finditer(written))
        if not parts or "".join(part.group(0) for part in parts) != written:
            raise ValueError(f"{text!r} is not a duration; write it like '90s', '50ms' or '1h30m'")
        seconds = sum(float(part.group(1)) * _UNIT_S[part.group(2)] for part in parts)
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{text!r} is not a positive duration")
    return seconds


def format_duration(seconds: float) -> str:
    """Two leading units at most: ``0.8 s``, ``42 s``, ``3 min 20 s``, ``8 h 05 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def format_bytes(count: float) -> str:
    """Binary units with one decimal: ``12.4 GiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
