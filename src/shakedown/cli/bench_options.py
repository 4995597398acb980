"""What the options of ``bench`` mean: text in, values out, one clear error each."""

from __future__ import annotations

import json
import math
import re
from typing import Literal

from shakedown.domain.errors import UserError

_SECONDS = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(ms|s|m|min|h)?")
_UNITS = {None: 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def parse_seconds(option: str, text: str) -> float:
    """Read a duration such as ``50ms``, ``60s``, ``5m``; a bare number is seconds.

    Raises:
        UserError: if it is none, or not above zero.
    """
    match = _SECONDS.fullmatch(text.strip())
    if match is None or float(match[1]) <= 0:
        raise UserError(f"{option} {text!r}: expected a duration above zero such as 50ms, 60s or 5m")
    return float(match[1]) * _UNITS[match[2]]


def parse_slo(text: str | None) -> dict[str, float]:
    """Read ``ttft_p99=2s,tpot_p99=50ms`` into seconds.

    Raises:
        UserError: if a part is not METRIC_STATISTIC=DURATION.
    """
    from shakedown.stats.goodput import slo_parts

    limits: dict[str, float] = {}
    for part in (text or "").split(","):
        if not part.strip():
            continue
        key, sign, value = part.partition("=")
        key = key.strip()
        if not sign:
            raise UserError(f"--slo {part!r}: expected METRIC_STATISTIC=DURATION such as ttft_p99=2s")
        try:
            slo_parts(key)
        except ValueError as error:
            raise UserError(f"--slo: {error}") from error
        limits[key] = parse_seconds(f"--slo {key}", value)
    return limits


def parse_levels(
    concurrency: str | None, request_rate: str | None, *, by_trace: bool
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Read the load levels; where neither is given a trace keeps its own times, and all else runs one at a time.

    Raises:
        UserError: if both are given, or one holds something that is no positive number.
    """
    if concurrency is not None and request_rate is not None:
        raise UserError("--concurrency and --request-rate: give one of them, a closed or an open loop")
    if request_rate is not None:
        return (), tuple(_rate(part) for part in request_rate.split(","))
    if concurrency is None and by_trace:
        return (), ()
    return tuple(_slots(part) for part in (concurrency or "1").split(",")), ()


def _slots(text: str) -> int:
    if not text.strip().isdigit() or int(text) < 1:
        raise UserError(f"--concurrency {text!r}: expected whole numbers above zero, as in 1,4,16")
    return int(text)


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not rate > 0:
        raise UserError(f"--request-rate {text!r}: expected requests per second above zero, or inf, as in 1,2.5,inf")
    return rate


def parse_percent(option: str, text: str) -> float:
    """Read ``2%`` or ``0.02`` as a share between 0 and 1.

    Raises:
        UserError: if it is none.
    """
    digits = text.strip().removesuffix("%")
    try:
        share = float(digits) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 < share < 1:
        raise UserError(f"{option} {text!r}: expected a percentage between 0 and 100, as in 2%")
    return share


def parse_search(text: str | None, slo: dict[str, float]) -> Literal["concurrency", "request_rate"] | None:
    """Read what to search for.

    Raises:
        UserError: for another word, or without objectives that a share of requests decides.
    """
    if text is None:
        return None
    if text not in {"concurrency", "request-rate", "request_rate"}:
        raise UserError(f"--search {text!r}: expected concurrency or request-rate")
    if not slo:
        raise UserError("--search: needs the limits to keep, as in --slo ttft_p99=2s,tpot_p99=50ms")
    means = [key for key in slo if key.endswith("_mean")]
    if means:
        raise UserError(f"--slo {means[0]}: a search counts requests within a limit; give a percentile such as p50")
    return "concurrency" if text == "concurrency" else "request_rate"


def parse_headers(lines: list[str]) -> dict[str, str]:
    """Read ``Name: value`` lines.

    Raises:
        UserError: if a line has no colon.
    """
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise UserError(f"--header {line!r}: expected 'Name: value'")
        headers[name.strip()] = value.strip()
    return headers


def parse_extra_body(text: str | None) -> dict[str, object]:
    """Read the JSON object that is added to every request.

    Raises:
        UserError: if it is no JSON object.
    """
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UserError(f"--extra-body: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise UserError(f"--extra-body: expected a JSON object, got {type(value).__name__}")
    return value
