"""When requests are sent: pure, seeded functions that give absolute offsets."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shakedown.domain.workload import Arrival

Offsets = NDArray[np.float64]
"""Seconds after the start of the window, ascending."""


def arrival_offsets(
    count: int, rate: float, *, arrival: Arrival = Arrival.POISSON, burstiness: float = 1.0, seed: int = 0
) -> Offsets:
    """Offsets of ``count`` requests at ``rate`` requests per second; the first is sent at once.

    The gaps are constant, exponential (Poisson) or gamma with shape ``burstiness`` and mean ``1 / rate``. Infinity
    sends all at once.

    Raises:
        ValueError: if ``rate`` or ``burstiness`` is not positive.
    """
    if not rate > 0 or not burstiness > 0:
        raise ValueError(f"rate {rate} and burstiness {burstiness} must be positive")
    if math.isinf(rate):
        return np.zeros(count)
    gaps = count - 1
    if arrival is Arrival.CONSTANT:
        return np.arange(count) / rate
    shape = 1.0 if arrival is Arrival.POISSON else burstiness
    drawn = np.random.default_rng(seed).gamma(shape, 1.0 / (rate * shape), size=max(gaps, 0))
    return np.concatenate(([0.0], np.cumsum(drawn)))[:count]


def ramp_offsets(first_rate: float, last_rate: float, seconds: float) -> Offsets:
    """Offsets of requests whose rate grows or falls linearly from ``first_rate`` to ``last_rate`` over ``seconds``.

    The n-th request is due when the integral of the rate reaches n; nothing is drawn.

    Raises:
        ValueError: if a rate is negative, both are 0, or ``seconds`` is not positive.
    """
    if min(first_rate, last_rate) < 0 or first_rate + last_rate <= 0 or not seconds > 0:
        raise ValueError(f"a ramp from {first_rate} to {last_rate} requests/s over {seconds} s sends nothing")
    count = math.floor((first_rate + last_rate) / 2 * seconds) + 1
    numbers = np.arange(count)
    slope = (last_rate - first_rate) / seconds
    if slope == 0:
        return numbers / first_rate
    # The root of slope/2 t² + first_rate t = n, in the form that does not cancel for small slopes.
    offsets: Offsets = 2 * numbers / (first_rate + np.sqrt(np.maximum(first_rate**2 + 2 * slope * numbers, 0.0)))
    return offsets
