"""What failed launches teach: which arms cannot work, and how likely the others are to.

A launch that failed has at least one guilty value. Values that stand in a launch that worked are cleared, the others
share the suspicion. Only a value that failed alone, all else as in a launch that worked, is not launched again with
anything it cannot depend on: a partner declared to act together with it, set otherwise, may save it. Elimination alone
rules nothing out, for it would blame a harmless value for two cleared ones that do not go together.
"""

from __future__ import annotations

import numpy as np

from shakedown.plan.strategies.space import BoolArray, FloatArray, IntArray, Space

_UNTRIED_FAILS = 0.1
"""Guess, before any launch, that one value does not work on this machine."""
_BLAMED_FAILS = 0.5
"""Guess that the only suspect of a failed launch fails elsewhere too."""


def likelihood_of_working(space: Space, worked: BoolArray, failed: BoolArray) -> FloatArray:
    """Give each arm its probability of working: 0 where a failed launch rules it out.

    Args:
        space: The arms.
        worked: Which arms worked, shape (arms,).
        failed: Which arms failed, shape (arms,).
    """
    cleared = _cleared(space, worked)
    log_odds = [np.where(good, 0.0, np.log1p(-_UNTRIED_FAILS)) for good in cleared]
    possible = ~failed
    for launch in np.unique(space.codes[failed], axis=0):
        suspects = [column for column, code in enumerate(launch) if code >= 0 and not cleared[column][code]]
        if len(suspects) == 1 and _failed_alone(space, launch, suspects[0], worked):
            possible &= ~_depends_on(space, launch, suspects[0])
        elif not suspects:
            possible &= ~_guilty_pair(space, launch, worked)
        blame = _BLAMED_FAILS if len(suspects) == 1 else _shared_blame(len(suspects))
        for column in suspects:
            log_odds[column][launch[column]] += np.log1p(-blame)
    total = np.zeros(len(space.ids))
    for column, odds in enumerate(log_odds):
        total += np.append(odds, 0.0)[space.codes[:, column]]
    return np.where(possible, np.exp(total), 0.0)


def _cleared(space: Space, worked: BoolArray) -> list[BoolArray]:
    """Tell for each column which options stand in a launch that worked."""
    return [np.isin(np.arange(size), space.codes[worked, column]) for column, size in enumerate(space.sizes)]


def _shared_blame(suspects: int) -> float:
    """Probability that one of ``suspects`` equally suspect values fails, given that at least one does."""
    return _UNTRIED_FAILS / float(1 - (1 - _UNTRIED_FAILS) ** suspects) if suspects else 0.0


def _failed_alone(space: Space, launch: IntArray, column: int, worked: BoolArray) -> bool:
    """Tell whether some arm that worked differs from the failed launch in this column alone."""
    differs = space.codes[worked] != launch
    return bool((differs[:, column] & (differs.sum(axis=1) == 1)).any())


def _depends_on(space: Space, launch: IntArray, column: int) -> BoolArray:
    """Mark the arms that hold the guilty value with nothing changed that it could depend on."""
    context = [column, *space.partners(column)]
    return np.asarray((space.codes[:, context] == launch[context]).all(axis=1))


def _guilty_pair(space: Space, launch: IntArray, worked: BoolArray) -> BoolArray:
    """Mark the arms that share the one declared pair of values that never worked, where exactly one is left."""
    unproven = []
    for pair in space.pairs:
        columns = list(pair)
        same = (space.codes[:, columns] == launch[columns]).all(axis=1)
        if not (same & worked).any():
            unproven.append(same)
    return np.asarray(unproven[0]) if len(unproven) == 1 else np.zeros(len(space.ids), dtype=np.bool_)
