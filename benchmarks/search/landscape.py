"""A landscape: what every combination of a space would show if it were launched, known exactly."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shakedown.domain.words import Verdict
from shakedown.plan.strategies.base import Arm

Choice = tuple[str, ...]
"""One option for each dimension, in the order of the dimensions."""
Truth = Mapping[Choice, float | Verdict]
"""Log objective of a combination that works, else its verdict; combinations that are missing were pruned."""


@dataclass(frozen=True)
class Blur:
    """How a launch blurs the truth: relative standard deviations."""

    noise: float
    """Of one repeat within a launch."""
    launch_effect: float = 0.0
    """Of what a launch adds to all of its repeats."""
    repeats: int = 3

    @property
    def per_launch(self) -> float:
        """Standard deviation of the mean over the repeats of one launch."""
        return math.hypot(self.launch_effect, self.noise / math.sqrt(self.repeats))


class Landscape:
    """A space with its truth."""

    def __init__(
        self, dimensions: Mapping[str, Choice], truth: Truth, blur: Blur, interacting: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.dimensions = dimensions
        self.blur = blur
        self.interacting = frozenset(frozenset(pair) for pair in interacting)
        choices = [choice for choice in itertools.product(*dimensions.values()) if choice in truth]
        self.arms = tuple(Arm("/".join(choice), dict(zip(dimensions, choice, strict=True))) for choice in choices)
        self.reference = "/".join(options[0] for options in dimensions.values())
        self._truth = {arm.id: truth[choice] for arm, choice in zip(self.arms, choices, strict=True)}
        self._number = {arm.id: number for number, arm in enumerate(self.arms)}
        self._best = max(value for value in self._truth.values() if isinstance(value, float))

    @property
    def tolerance(self) -> float:
        """Regret that counts as found: 1 %, and 3 % where launches themselves differ."""
        return 0.03 if self.blur.launch_effect else 0.01

    @property
    def launches(self) -> int:
        """Launches a verdict rests on: as many as make three standard errors of an arm the tolerance, from 2 to 16."""
        return min(16, max(2, math.ceil((3 * self.blur.per_launch / self.tolerance) ** 2)))

    def regret(self, arm: str | None) -> float:
        """What the choice loses against the best, relative and free of noise; 1 where nothing was chosen."""
        value = None if arm is None else self._truth[arm]
        return 1 - math.exp(value - self._best) if isinstance(value, float) else 1.0

    def launch(self, arm: str, seed: int, repeat: int) -> float | Verdict:
        """Launch ``arm``: its objective, or how it failed. The same for every strategy that launches it."""
        value = self._truth[arm]
        if not isinstance(value, float):
            return value
        rng = np.random.default_rng((seed, repeat, self._number[arm]))
        return math.exp(value + rng.normal(0, self.blur.per_launch))


def recorded(path: Path, blur: Blur) -> Landscape:
    """Read a landscape that ``record.py`` measured; the measured objective stands for the truth."""
    content = json.loads(path.read_text())
    truth: dict[Choice, float | Verdict] = {}
    for row in content["arms"]:
        value = row["objective"]
        truth[tuple(row["choice"])] = Verdict(row["verdict"]) if value is None else math.log(value)
    dimensions = {name: tuple(options) for name, options in content["dimensions"].items()}
    return Landscape(dimensions, truth, blur, tuple((a, b) for a, b in content["interacting"]))
