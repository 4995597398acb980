"""What adapters share: argument values as numbers and words, metrics, plain values of answers."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping

from prometheus_client.parser import text_string_to_metric_families

from shakedown.domain.base import ArgValue, Scalar
from shakedown.engines.base import LaunchPlan


def whole(args: Mapping[str, ArgValue], name: str) -> int | None:
    """A whole number, also where it was written as text; None where it is not given or no number."""
    value = args.get(name)
    if isinstance(value, bool | list) or value is None:
        return None
    text = str(value)
    return int(text) if text.removeprefix("-").isdigit() else None


def fraction(args: Mapping[str, ArgValue], name: str) -> float | None:
    """A number between 0 and 1; None where it is not given or no such number."""
    value = args.get(name)
    if isinstance(value, bool | list) or value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if 0 < number <= 1 else None


def word(args: Mapping[str, ArgValue], name: str) -> str | None:
    """A word; None where it is not given or is a switch."""
    value = args.get(name)
    return None if isinstance(value, bool | list) or value is None else str(value)


def switch(args: Mapping[str, ArgValue], name: str) -> bool:
    """Whether a bare flag is given."""
    return args.get(name, False) is not False


def shell_line(plan: LaunchPlan) -> str:
    """The line that a person would type; quoting is POSIX."""
    env = [f"{name}={shlex.quote(value)}" for name, value in plan.env.items()]
    return " ".join([*env, shlex.join(plan.argv)])


class Metrics:
    """Samples of a metrics page by name, labels kept."""

    def __init__(self, text: str) -> None:
        self._samples: dict[str, list[tuple[Mapping[str, str], float]]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                self._samples.setdefault(sample.name, []).append((sample.labels, sample.value))

    def total(self, *names: str) -> float | None:
        """Sum over all label sets of the first name that is there; worker ranks repeat a value and count once."""
        return self._over(names, sum)

    def highest(self, *names: str) -> float | None:
        """Greatest over all label sets of the first name that is there."""
        return self._over(names, max)

    def _over(self, names: tuple[str, ...], combine: Callable[[list[float]], float]) -> float | None:
        for name in names:
            values = [value for labels, value in self._samples.get(name, []) if labels.get("tp_rank", "0") == "0"]
            if values:
                return combine(values)
        return None

    def by_label(self, name: str, label: str) -> dict[str, float]:
        """Values by one label, summed over the others."""
        sums: dict[str, float] = {}
        for labels, value in self._samples.get(name, []):
            sums[labels[label]] = sums.get(labels[label], 0.0) + value
        return sums


def scalar(answer: Mapping[str, object] | None, *path: str) -> Scalar | None:
    """A plain value inside an answer; None where it is missing, null or no plain value."""
    here: object = answer
    for step in path:
        here = here.get(step) if isinstance(here, Mapping) else None
    return here if isinstance(here, bool | int | float | str) else None


def first_model(answer: Mapping[str, object] | None) -> str | None:
    """The first name of ``/v1/models``."""
    match answer:
        case {"data": [{"id": str(name)}, *_]}:
            return name
    return None
