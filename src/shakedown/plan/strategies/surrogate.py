"""A guess at every arm's log ratio from those that were launched: a Gaussian process over options.

The covariance of two arms depends on the dimensions they agree in: a main effect for each option, an interaction for
each pair of options (stronger for pairs declared to act together), a part of the arm's own. So each launch says
something of every option it holds, and noise is averaged over all launches. This is the analysis of a factorial design
with random effects (Box, Hunter and Hunter, Statistics for Experimenters, 2005), written as Gaussian process regression
(Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, algorithm 2.1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from shakedown.plan.strategies.space import FloatArray, IntArray, Space
from shakedown.plan.strategies.standing import Estimate

_LEVEL_VARIANCE = 1.0
"""Of the common level: wide, so that nothing is assumed of where the reference stands."""
_SHARES = ((0.02, 0.001), (0.15, 0.01), (0.4, 0.02))
"""Shares of interactions, and of what is an arm's own, in the variance of all arms that are tried; the data choose."""
_NOT_TOLD_APART = 1.0
"""Fits whose log evidence differs by less are equally good; the one with most interactions is taken, to be cautious."""
_DECLARED = 0.5
"""Share of the pairs declared to act together, where there are any."""
_SCALES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Standard deviations of the log ratio over all arms that are tried; the data choose."""
_SMOOTH = 0.8
"""Share of a numeric dimension's effect that changes smoothly along its scale; the rest is each option's own."""
_REACH = 0.3
"""How far that reaches, as a share of the scale."""
_USUAL_SCALE = 0.15
"""Centre of the scale's log-normal prior (its deviation is 1): the first launches say little of it."""


@dataclass(frozen=True, slots=True)
class Belief:
    """Log ratio of every arm (mean) and the standard deviation of its difference from the leader's."""

    leader: int
    """Row of the launched arm with the highest mean."""
    mean: FloatArray
    deviation: FloatArray


def believe(space: Space, known: Mapping[str, Estimate]) -> Belief:
    """Fit the arms that worked, at least one, and predict all."""
    rows = np.array([row for row, arm in enumerate(space.ids) if arm in known])
    means = np.array([known[space.ids[row]].mean for row in rows])
    errors = np.array([known[space.ids[row]].error for row in rows])
    near = _Agreement(space, rows, rows)
    far = _Agreement(space, rows, np.arange(len(space.ids)))
    centre = float(np.average(means, weights=errors**-2.0))
    fits = [_Fit(near, share, scale, means - centre, errors) for share, scale in product(_SHARES, _SCALES)]
    bar = max(one.evidence for one in fits) - _NOT_TOLD_APART
    fit = max((one for one in fits if one.evidence >= bar), key=lambda one: (one.share, one.scale))
    covariance = far.covariance(fit.share, fit.scale)
    whitened = np.linalg.solve(fit.root, covariance)
    mean = centre + covariance.T @ fit.weights
    place = int(np.argmax(mean[rows]))
    own = far.variance(fit.scale) - (whitened**2).sum(axis=0)
    leader = rows[place]
    shared = covariance[place] - whitened.T @ whitened[:, leader]
    deviation = np.sqrt(np.maximum(own + own[leader] - 2 * shared, 0.0))
    return Belief(leader=int(leader), mean=mean, deviation=deviation)


class _Agreement:
    """How far two sets of arms agree, shape (first, second): what every covariance is made from.

    A dimension that promises more than others is believed to vary more.
    """

    def __init__(self, space: Space, first: IntArray, second: IntArray) -> None:
        columns = len(space.names)
        same = np.zeros((columns, len(first), len(second)))
        for column in range(columns):
            same[column] = _alike(space, column, first, second)
        count = same.sum(axis=0)
        self._main: FloatArray = np.einsum("d,dab->ab", space.weights, same)
        self._pairs = (count**2 - (same**2).sum(axis=0)) / (columns * (columns - 1)) if columns > 1 else self._main
        self._own = np.prod(same, axis=0)
        self._declared = np.zeros_like(count)
        for a, b in space.pairs:
            self._declared += same[a] * same[b] / len(space.pairs)
        self._declared_share = _DECLARED if space.pairs else 0.0

    def covariance(self, share: tuple[float, float], scale: float) -> FloatArray:
        """Covariance where interactions have ``share`` of the variance ``scale`` squared."""
        pairs, own = share
        shape = (1 - pairs - own) * self._main + pairs * self._pairs + own * self._own
        return np.asarray(scale**2 * (shape + self._declared_share * self._declared) + _LEVEL_VARIANCE, np.float64)

    def variance(self, scale: float) -> float:
        """Prior variance of any one arm, which agrees with itself in everything."""
        return scale**2 * (1 + self._declared_share) + _LEVEL_VARIANCE


def _alike(space: Space, column: int, first: IntArray, second: IntArray) -> FloatArray:
    """Correlation of the options that two sets of arms hold: 1 for the same one, and more for near numbers than far."""
    a, b = space.codes[first, column], space.codes[second, column]
    same: FloatArray = (a[:, None] == b[None, :]).astype(np.float64)
    ranks = space.ranks[column]
    if ranks is None:
        return same
    reach = (len(ranks) - 1) * _REACH
    steps = np.subtract.outer(ranks[a], ranks[b])
    return np.asarray(_SMOOTH * np.exp(-0.5 * (steps / reach) ** 2) + (1 - _SMOOTH) * same)


class _Fit:
    """One choice of share and scale, fitted to the launched arms."""

    def __init__(
        self, near: _Agreement, share: tuple[float, float], scale: float, targets: FloatArray, errors: FloatArray
    ) -> None:
        self.share = share
        self.scale = scale
        self.root = np.linalg.cholesky(near.covariance(share, scale) + np.diag(errors**2))
        half = np.linalg.solve(self.root, targets)
        self.weights = np.linalg.solve(self.root.T, half)
        likelihood = -0.5 * float(half @ half) - float(np.log(np.diag(self.root)).sum())
        self.evidence = likelihood - 0.5 * math.log(scale / _USUAL_SCALE) ** 2
