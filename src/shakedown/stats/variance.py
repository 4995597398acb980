"""Variances of a few values each, made usable by what all candidates of a campaign have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, polygamma

_FLOOR = 1e-14
"""Smallest variance of a log score: timers do not resolve a relative difference under 1e-7."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A variance estimate and its degrees of freedom."""

    variance: float
    df: float


@dataclass(frozen=True, slots=True)
class CommonSpread:
    """What the spreads of all candidates have in common: a prior for each of them.

    Attributes:
        variance: the prior's variance.
        df: what the prior is worth in degrees of freedom; infinite when the candidates' spreads differ no more than
            chance makes them.
        total_df: degrees of freedom of all data together; no estimate is worth more.
    """

    variance: float
    df: float
    total_df: float

    def moderate(self, values: Sequence[float]) -> Spread:
        """Spread of one candidate's values, drawn towards the common one; a single value gets the common one."""
        own_df = len(values) - 1
        if math.isinf(self.df):
            return Spread(self.variance, self.total_df)
        own = float(np.var(values, ddof=1)) if own_df > 0 else 0.0
        df = self.df + own_df
        return Spread((self.df * self.variance + own_df * own) / df, min(df, self.total_df))


def common_spread(groups: Sequence[Sequence[float]]) -> CommonSpread | None:
    """Estimate the prior from groups of values of which at least one has two; None if none has.

    Empirical Bayes as in Smyth (2004), "Linear models and empirical Bayes methods for assessing differential
    expression", section 6.2: log variances scatter by trigamma(df/2) through chance alone; what they scatter more is
    real and limits the prior's degrees of freedom.
    """
    spreads = [Spread(max(float(np.var(g, ddof=1)), _FLOOR), len(g) - 1) for g in groups if len(g) > 1]
    if not spreads:
        return None
    df = np.array([spread.df for spread in spreads])
    variance = np.array([spread.variance for spread in spreads])
    total_df = float(df.sum())
    pooled = float((df * variance).sum() / total_df)
    # Two spreads say nothing of how spreads scatter.
    if len(spreads) < 3:
        return CommonSpread(pooled, math.inf, total_df)
    logs = np.log(variance) - digamma(df / 2) + np.log(df / 2)
    excess = float(np.var(logs, ddof=1) - np.mean(polygamma(1, df / 2)))
    if excess <= 0:
        return CommonSpread(pooled, math.inf, total_df)
    prior_df = 2 * _inverse_trigamma(excess)
    prior = math.exp(float(np.mean(logs)) + float(digamma(prior_df / 2)) - math.log(prior_df / 2))
    return CommonSpread(prior, prior_df, total_df)


def _inverse_trigamma(value: float) -> float:
    """Solve trigamma(x) = value by Newton's method on 1/trigamma, which is convex and nearly linear (Smyth 2004)."""
    x = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, x))
        x += step
        if abs(step) < 1e-9 * x:
            break
    return x
