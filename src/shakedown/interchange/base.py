"""What a reader of a load generator's results is, and the little that all of them share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from shakedown.domain.base import Scalar
from shakedown.domain.metric import ClientProof, Distribution, PointSummary

Document = Mapping[str, object]
"""One JSON object."""

WORKLOAD = "bench"
"""Name of a load generator's one workload, so that results of several can be held against each other."""

NO_PROOF = ClientProof(cpu_s=None, send_lateness_s=None, loop_lag_s=None, limited=None)
"""Other load generators do not show that they were not the limit."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Load points of one server as a load generator reported them; repeats are numbered by whoever gathers them."""

    points: tuple[PointSummary, ...]
    label: str = ""
    """What tells this server from others of the same file, as in a sweep."""
    model: str | None = None
    engine: str | None = None
    effective: Mapping[str, Scalar | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reader:
    """One kind of document. ``tool`` is how the load generator is called in a sentence."""

    name: str
    tool: str
    recognises: Callable[[Document], bool]
    read: Callable[[Document], Measured]
    """Raises KeyError, TypeError or ValueError where the document is not what it seemed."""


def number(value: object) -> float:
    """A number that must be there.

    Raises:
        TypeError: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"expected a number, got {value!r}")
    return float(value)


def maybe(value: object) -> float | None:
    """A number, or None where there is none."""
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


def positive(value: object) -> float | None:
    """A rate, or None where nothing was measured: other tools write 0 then."""
    found = maybe(value)
    return found if found is not None and found > 0 else None


def mapping(value: object) -> Document:
    """An object that may be missing."""
    return value if isinstance(value, Mapping) else {}


def spread(samples: float | None, mean: object, p50: object, **upper: object) -> Distribution | None:
    """A distribution from milliseconds; None where nothing was measured (other tools write zeros then).

    Args:
        samples: how many values.
        mean: their mean, ms.
        p50: their median, ms.
        upper: ``p90``, ``p99`` and ``max`` where they are known, ms.
    """
    average, median = maybe(mean), maybe(p50)
    if not samples or average is None or median is None or average <= 0:
        return None
    known = {name: None if (value := maybe(given)) is None else value / 1e3 for name, given in upper.items()}
    return Distribution(
        mean=average / 1e3,
        p50=median / 1e3,
        p90=known.get("p90"),
        p99=known.get("p99"),
        max=known.get("max"),
        samples=int(samples),
    )
