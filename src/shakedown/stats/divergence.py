"""How far one next-token distribution lies from another, and how sure a mean of such distances is.

Estimators and their bias: docs/gates.md, "The estimator".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import numpy as np

Token = TypeVar("Token", int, str)

FLOOR = 1e-10
"""Least probability of a tail: servers round, so that a listed mass can exceed 1 by about 1e-7."""
SWEEPS = 40
"""Rounds of the minimisation; each is a closed form, and it settles to 1e-9 within ten."""


def kl_from_top(reference: Mapping[Token, float], candidate: Mapping[Token, float]) -> float | None:
    """Least Kullback-Leibler divergence D(reference || candidate) that fits two lists of the most likely tokens.

    Of the reference we know the probabilities of its own list, of the candidate those of its list. Tokens in both stand
    for themselves. Tokens in one list only form a bucket each, whose mass on the other side is unknown: it lies in that
    side's tail, and no token of it can be likelier than the least likely one listed there. The masses are chosen within
    these bounds so that the divergence is least. Coarse-graining never raises a divergence, so the result never
    exceeds the true one: biased low, by little while the tails are light, and never invented.

    Args:
        reference: token (its id, or its text) to log-probability (natural logarithm); the most likely ones, no others.
        candidate: the same for the other server.

    Returns:
        Nats, at least 0; None where a list is empty.
    """
    if not reference or not candidate:
        return None
    p = {token: math.exp(value) for token, value in reference.items()}
    q = {token: math.exp(value) for token, value in candidate.items()}
    p_tail, q_tail = max(1.0 - math.fsum(p.values()), FLOOR), max(1.0 - math.fsum(q.values()), FLOOR)
    p_total, q_total = math.fsum(p.values()) + p_tail, math.fsum(q.values()) + q_tail
    common = [token for token in p if token in q]
    p_only = math.fsum(value for token, value in p.items() if token not in q)
    q_only = math.fsum(value for token, value in q.items() if token not in p)
    terms = [_term(p[token] / p_total, q[token] / q_total) for token in common]
    terms += _least_tails(
        p_only / p_total,
        q_only / q_total,
        p_tail / p_total,
        q_tail / q_total,
        most_p=(len(q) - len(common)) * min(p.values()) / p_total,
        most_q=(len(p) - len(common)) * min(q.values()) / q_total,
    )
    return max(math.fsum(terms), 0.0)


def _least_tails(
    p_only: float, q_only: float, p_tail: float, q_tail: float, *, most_p: float, most_q: float
) -> tuple[float, float, float]:
    """Divergence terms of three buckets (reference's own, candidate's own, the rest) with the unknown masses at best.

    ``p_on_q`` is what the reference gives the candidate's own tokens, at most ``most_p``; ``q_on_p`` the reverse. The
    sum is convex in both, and each has a closed form when the other is held.
    """
    p_on_q, q_on_p = 0.0, 0.0
    for _ in range(SWEEPS):
        q_on_p = min(most_q, q_tail * p_only / (p_only + p_tail - p_on_q + FLOOR))
        p_on_q = min(most_p, p_tail * q_only / (q_only + q_tail - q_on_p + FLOOR))
    return _term(p_only, q_on_p), _term(p_on_q, q_only), _term(p_tail - p_on_q, q_tail - q_on_p)


def _term(p: float, q: float) -> float:
    return p * math.log(p / max(q, FLOOR)) if p > 0 else 0.0


def tail_mass(top: Mapping[Token, float]) -> float:
    """Probability outside the list: what ``kl_from_top`` cannot tell apart."""
    return max(1.0 - math.fsum(math.exp(value) for value in top.values()), 0.0)


def k3(logprob: float, other: float) -> float:
    """Schulman's k3 estimate of D(p || q) from one token: (r - 1) - ln r with r = q / p. Never negative.

    Unbiased when the token was drawn from p. Source: J. Schulman, "Approximating KL divergence", 2020.

    Args:
        logprob: ln p of the token under the distribution it was drawn from.
        other: ln q of the same token under the other one.
    """
    log_ratio = min(other - logprob, 50.0)
    return math.expm1(log_ratio) - log_ratio


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its bootstrap interval, over ``samples`` values in ``clusters`` independent groups."""

    mean: float
    low: float
    high: float
    samples: int
    clusters: int


def bootstrap_mean(
    values: Sequence[float],
    clusters: Sequence[object],
    *,
    confidence: float = 0.95,
    resamples: int = 4000,
    seed: int = 0,
) -> Estimate:
    """Mean of ``values`` with a percentile bootstrap interval that resamples whole clusters.

    Neighbouring positions of one text are not independent; resampling them one by one would make the interval too
    narrow. Source: A. C. Davison, D. V. Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8.

    Args:
        values: one number per position.
        clusters: the group each value belongs to, same length.
        confidence: coverage of the interval, 0 to 1.
        resamples: bootstrap samples.
        seed: of the resampling, so that the same values give the same interval.

    Raises:
        ValueError: if there are no values.
    """
    if not values:
        raise ValueError("no values to average")
    names = {name: index for index, name in enumerate(dict.fromkeys(clusters))}
    member = np.array([names[name] for name in clusters])
    sums = np.bincount(member, weights=np.asarray(values, dtype=float))
    sizes = np.bincount(member).astype(float)
    picks = np.random.default_rng(seed).integers(0, len(names), size=(resamples, len(names)))
    means = sums[picks].sum(axis=1) / sizes[picks].sum(axis=1)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Estimate(float(sums.sum() / sizes.sum()), float(low), float(high), len(values), len(names))


class Decision(StrEnum):
    """What an interval says about a limit."""

    WITHIN = "within"
    ABOVE = "above"
    UNDECIDED = "undecided"


def decide(estimate: Estimate, limit: float) -> Decision:
    """Non-inferiority by the interval, never by the point: above the limit only when all of the interval is."""
    if estimate.low > limit:
        return Decision.ABOVE
    return Decision.WITHIN if estimate.high <= limit else Decision.UNDECIDED
