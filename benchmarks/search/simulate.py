"""Campaigns on a landscape: what each strategy would have chosen after each launch."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from benchmarks.search.landscape import Landscape

from shakedown.domain.words import Verdict
from shakedown.plan.strategies.base import Observation, SearchState, Strategy
from shakedown.plan.strategies.standing import best_of, estimates

_EVERY_LAUNCH = 60
_STRIDE = 10
"""Up to that many launches the choice is looked at after each, later after every tenth: it changes little."""


def regrets(landscape: Landscape, strategy: Strategy, seed: int, most: int) -> npt.NDArray[np.float64]:
    """Play one campaign; give the regret of the choice after each launch, shape (launches until it ended,).

    The choice is the same for every strategy: the highest mean less its standard error.
    """
    campaign = Campaign(landscape, seed)
    course: list[float] = []
    while len(campaign.order) < most:
        ask = strategy.ask(campaign.state())
        if ask is None:
            break
        campaign.launch(ask.candidate)
        done = len(campaign.order)
        if done <= _EVERY_LAUNCH or done % _STRIDE == 0:
            regret = landscape.regret(best_of(estimates(campaign.state())))
        course.append(regret)
    course[-1] = landscape.regret(best_of(estimates(campaign.state())))
    return np.array(course)


class Campaign:
    """What a campaign stores of its launches, and what it tells a strategy."""

    def __init__(self, landscape: Landscape, seed: int) -> None:
        self.landscape = landscape
        self.seed = seed
        self.order: list[str] = []
        self._shown: dict[str, list[float]] = {}
        self._observations: dict[str, Observation] = {}
        self._level = 1.0

    def launch(self, arm: str) -> None:
        """Launch an arm and note what it showed, as a ratio to the reference's mean, or to 1 where that fails."""
        result = self.landscape.launch(arm, self.seed, self.order.count(arm))
        self.order.append(arm)
        if isinstance(result, Verdict):
            self._observations[arm] = Observation(result)
            return
        self._shown.setdefault(arm, []).append(result)
        again = [arm]
        if arm == self.landscape.reference:
            self._level = math.fsum(self._shown[arm]) / len(self._shown[arm])
            again = list(self._shown)
        for one in again:
            self._observations[one] = Observation(
                Verdict.QUALIFIED, tuple(value / self._level for value in self._shown[one])
            )

    def state(self) -> SearchState:
        """Everything a strategy may know, no limit to the launches."""
        return SearchState(
            dimensions=self.landscape.dimensions,
            arms=self.landscape.arms,
            reference=self.landscape.reference,
            observations=self._observations,
            order=tuple(self.order),
            margin=self.landscape.tolerance,
            launches=self.landscape.launches,
            seed=self.seed,
            interacting=self.landscape.interacting,
        )
