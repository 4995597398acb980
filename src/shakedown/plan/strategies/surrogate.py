"""A guess at every arm's log ratio from those that were launched: a Gaussian process over options.

The covariance of two arms depends on the dimensions they agree in: a main effect for each option, an interaction for
each pair of options (stronger for pairs declared to act together), a part of the arm's own. So each launch says
something of every option it holds, and noise is averaged over all launches. This is the analysis of a factorial design
with random effects (Box, Hunter and Hunter, Statistics for Experimenters, 2005), written as Gaussian process regression
(Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, algorithm 2.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from shakedown.plan.strategies.space import FloatArray, IntArray, Space

_LEVEL_VARIANCE = 1.0
"""Of the common level: wide, so that nothing is assumed of where the reference stands."""
_OWN = 0.05
"""Share of an arm's own in the variance of all arms."""
_PAIRS = (0.05, 0.3)
"""Shares of interactions that are tried; the data choose."""
_DECLARED = 0.5
"""Share of the pairs declared to act together, where there are any."""
_SCALES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Standard deviations of the log ratio over all arms that are tried; the data choose."""
_USUAL_SCALE = 0.15
"""Centre of the scale's log-normal prior (its deviation is 1): the first launches say little of it."""


@dataclass(frozen=True, slots=True)
class Belief:
    """Log ratio of every arm (mean) and the standard deviation of its difference from the leader's."""

    leader: int
    """Row of the launched arm with the highest mean."""
    mean: FloatArray
    deviation: FloatArray


def believe(space: Space, rows: IntArray, means: FloatArray, errors: FloatArray) -> Belief:
    """Fit the launched arms and predict all.

    Args:
        space: The arms.
        rows: Rows of the arms that were measured, at least one.
        means: Their mean log ratios.
        errors: Standard errors of these means, positive.
    """
    near = _Agreement(space, rows, rows)
    far = _Agreement(space, rows, np.arange(len(space.ids)))
    centre = float(np.average(means, weights=errors**-2.0))
    fits = [_Fit(near, share, scale, means - centre, errors) for share, scale in product(_PAIRS, _SCALES)]
    fit = max(fits, key=lambda one: one.evidence)
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
    """How far two sets of arms agree, shape (first, second): what every covariance is made from."""

    def __init__(self, space: Space, first: IntArray, second: IntArray) -> None:
        same = space.codes[first][:, None, :] == space.codes[second][None, :, :]
        columns = same.shape[2]
        count = same.sum(axis=2).astype(np.float64)
        self._main = count / max(columns, 1)
        self._pairs = count * (count - 1) / (columns * (columns - 1)) if columns > 1 else self._main
        self._own = (count == columns).astype(np.float64)
        self._declared = np.zeros_like(count)
        for a, b in space.pairs:
            self._declared += (same[:, :, a] & same[:, :, b]) / len(space.pairs)
        self._declared_share = _DECLARED if space.pairs else 0.0

    def covariance(self, share: float, scale: float) -> FloatArray:
        """Covariance where interactions have ``share`` of the variance ``scale`` squared."""
        shape = (1 - share - _OWN) * self._main + share * self._pairs + _OWN * self._own
        return np.asarray(scale**2 * (shape + self._declared_share * self._declared) + _LEVEL_VARIANCE)

    def variance(self, scale: float) -> float:
        """Prior variance of any one arm, which agrees with itself in everything."""
        return scale**2 * (1 + self._declared_share) + _LEVEL_VARIANCE


class _Fit:
    """One choice of share and scale, fitted to the launched arms."""

    def __init__(self, near: _Agreement, share: float, scale: float, targets: FloatArray, errors: FloatArray) -> None:
        self.share = share
        self.scale = scale
        self.root = np.linalg.cholesky(near.covariance(share, scale) + np.diag(errors**2))
        half = np.linalg.solve(self.root, targets)
        self.weights = np.linalg.solve(self.root.T, half)
        likelihood = -0.5 * float(half @ half) - float(np.log(np.diag(self.root)).sum())
        self.evidence = likelihood - 0.5 * math.log(scale / _USUAL_SCALE) ** 2
