"""A guess at every arm's log ratio from those that were launched: a Gaussian process over options.

The covariance of two arms depends on the dimensions they agree in: a main effect for each option, an interaction for
each pair of options (stronger for pairs declared to act together), a part of the arm's own. So each launch says
something of every option it holds, and noise is averaged over all launches. This is the analysis of a factorial design
with random effects (Box, Hunter and Hunter, Statistics for Experimenters, 2005), written as Gaussian process regression
(Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, algorithm 2.1).
"""

from __future__ import annotations

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
_DECLARED = 1.0
"""Share of the pairs declared to act together, where there are any."""
_SCALES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Standard deviations of the log ratio over all arms that are tried; the data choose."""
_SMOOTH = 0.8
"""Share of a numeric dimension's effect that changes smoothly along its scale; the rest is each option's own."""
_REACH = 0.3
"""How far that reaches, as a share of the scale."""
_USUAL_SCALE = 0.15
"""Centre of the scale's log-normal prior (its deviation is 1): the first launches say little of it."""

_Choice = tuple[tuple[float, float], float]


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
    centre = float(np.average(means, weights=errors**-2.0))
    near = _Agreement(space, rows, rows)
    root, choice = _fit(near, means - centre, errors)
    far = _Agreement(space, rows, np.arange(len(space.ids))).covariance(*choice)
    whitened = np.linalg.solve(root, far)
    mean = centre + whitened.T @ np.linalg.solve(root, means - centre)
    place = int(np.argmax(mean[rows]))
    leader = int(rows[place])
    variance = near.covariance(*choice)[0, 0] - (whitened**2).sum(axis=0)
    shared = far[place] - whitened.T @ whitened[:, leader]
    deviation = np.sqrt(np.maximum(variance + variance[leader] - 2 * shared, 0.0))
    return Belief(leader=leader, mean=mean, deviation=deviation)


def _fit(near: _Agreement, targets: FloatArray, errors: FloatArray) -> tuple[FloatArray, _Choice]:
    """Choose shares and scale by the evidence of the launches; return the Cholesky root of their covariance with it.

    The evidence is the log marginal likelihood (Rasmussen and Williams, equation 2.30) and the log prior of the scale.
    """
    choices = list(product(_SHARES, _SCALES))
    roots = np.linalg.cholesky(np.stack([near.covariance(*choice) for choice in choices]) + np.diag(errors**2))
    halves = np.linalg.solve(roots, np.broadcast_to(targets[:, None], (len(choices), len(targets), 1)))[:, :, 0]
    fits = -0.5 * (halves**2).sum(axis=1) - np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    evidence = fits - 0.5 * np.log([scale / _USUAL_SCALE for _, scale in choices]) ** 2
    able = np.flatnonzero(evidence >= evidence.max() - _NOT_TOLD_APART)
    cautious = max(able, key=lambda number: choices[number])
    return roots[cautious], choices[cautious]


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

    def covariance(self, shares: tuple[float, float], scale: float) -> FloatArray:
        """Covariance where interactions and what is an arm's own have ``shares`` of the variance ``scale`` squared."""
        pairs, own = shares
        shape = (1 - pairs - own) * self._main + pairs * self._pairs + own * self._own
        return np.asarray(scale**2 * (shape + self._declared_share * self._declared) + _LEVEL_VARIANCE, np.float64)


def _alike(space: Space, column: int, first: IntArray, second: IntArray) -> FloatArray:
    """Correlation of the options that two sets of arms hold: 1 for the same one, and more for near numbers than far."""
    a, b = space.codes[first, column], space.codes[second, column]
    ranks = space.ranks[column]
    if ranks is None:
        same: FloatArray = (a[:, None] == b[None, :]).astype(np.float64)
        return same
    reach = (len(ranks) - 1) * _REACH
    near = np.exp(-0.5 * (np.subtract.outer(ranks, ranks) / reach) ** 2)
    options: FloatArray = _SMOOTH * near + (1 - _SMOOTH) * np.eye(len(ranks))
    return np.asarray(options[np.ix_(a, b)])
