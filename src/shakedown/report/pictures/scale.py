"""Axes: from values to pixels, and round numbers to write beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps ``low … high`` to ``start … end`` in pixels; logarithmic where the values span more than a decade."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """Pixel of ``value``, rounded to a tenth: finer is not seen and makes pages large."""
        if self.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self, count: int = 5) -> list[float]:
        """Round numbers within the range, lowest first."""
        return _decade_ticks(self.low, self.high) if self.logarithmic else _linear_ticks(self.low, self.high, count)


def linear(values: Iterable[float], start: float, end: float) -> Scale:
    """A scale from zero to a little above the largest value: a length on it is honest."""
    top = max(values, default=1.0)
    return Scale(0.0, top * 1.06 if top > 0 else 1.0, start, end)


def spread(values: Iterable[float], start: float, end: float) -> Scale:
    """A scale over positive values: logarithmic where they span more than a factor of twenty, else from zero."""
    known = [value for value in values if value > 0]
    if not known or max(known) / min(known) <= 20:
        return linear(known, start, end)
    return logarithmic(known, start, end)


def logarithmic(values: Iterable[float], start: float, end: float) -> Scale:
    """A logarithmic scale with a little room at both ends; values must be positive."""
    known = list(values)
    low, high = min(known, default=1.0), max(known, default=10.0)
    room = 1.12
    return Scale(low / room, high * room, start, end, logarithmic=True)


def _linear_ticks(low: float, high: float, count: int) -> list[float]:
    rough = (high - low) / max(count, 1)
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(index * step, 12) for index in range(first, last + 1)]


def _decade_ticks(low: float, high: float) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1,) if math.log10(high / low) > 3 else (1, 2, 5)
    candidates = [factor * 10.0**decade for decade in decades for factor in factors]
    return [tick for tick in candidates if low <= tick <= high]
