"""Quantities as people write and read them: durations in; numbers, sizes and durations out.

Units are chosen by size, three significant digits, an en dash for what was not measured.
"""

from __future__ import annotations

import re
import unicodedata

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


MISSING = "–"  # noqa: RUF001 - the en dash is what a person expects in an empty cell
"""Stands for None wherever a person reads."""


def number(value: float | None, digits: int = 3) -> str:
    """Write ``value`` with ``digits`` significant digits and without an exponent; thousands are kept whole."""
    if value is None:
        return MISSING
    if value == 0:
        return "0"
    whole = f"{abs(value):.{digits}g}"
    decimals = max(digits - 1 - int(f"{float(whole):e}".split("e")[1]), 0)
    return f"{value:,.{decimals}f}"


def latency(seconds: float | None) -> str:
    """Write a latency: microseconds, milliseconds or seconds, whichever reads best."""
    if seconds is None:
        return MISSING
    if abs(seconds) < 1e-3:
        return f"{number(seconds * 1e6)} µs"
    if abs(seconds) < 1:
        return f"{number(seconds * 1e3)} ms"
    return f"{number(seconds)} s"


def duration(seconds: float | None) -> str:
    """Write how long something takes: ``8 s``, ``3 min 20 s``, ``7 h 05 min``."""
    if seconds is None:
        return MISSING
    if seconds < 10:
        return f"{number(seconds, 2)} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def tokens_per_second(value: float | None) -> str:
    """Write a throughput with its unit."""
    return MISSING if value is None else f"{number(value)} tok/s"


def ratio(value: float | None, interval: tuple[float, float] | None = None) -> str:
    """Write a ratio of objectives, with its interval where there is one: ``1.084 [1.05, 1.12]``."""
    if value is None:
        return MISSING
    text = f"{value:.3f}"
    return text if interval is None else f"{text} [{interval[0]:.3f}, {interval[1]:.3f}]"


def change(value: float) -> str:
    """Write a ratio as a change a person says aloud: ``8.4 % faster``, ``31 % slower``, with a hard space."""
    percent = abs(value - 1) * 100
    if percent < 0.05:
        return "the same speed"
    return f"{number(percent, 2)}\u00a0% {'faster' if value > 1 else 'slower'}"


_STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories that move a cursor, turn a line's direction, or cannot be encoded."""


def printable(text: str) -> str:
    """Return ``text`` with control characters made visible: a log line must not steer the terminal it is shown on."""
    if text.isprintable():
        return text
    return "".join(character if _harmless(character) else _written(character) for character in text)


def _harmless(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) not in _STEERING


def _written(character: str) -> str:
    return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}"


def format_bytes(count: float) -> str:
    """Binary units with one decimal: ``12.4 GiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
