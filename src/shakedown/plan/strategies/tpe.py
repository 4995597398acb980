"""TPE: Optuna's tree-structured Parzen estimator, for spaces too large to learn option by option.

Optuna keeps nothing between two asks: every launch so far is replayed into a study in memory, with a sampler seeded by
the campaign's seed and the number of launches. A launch that failed enters as infeasible and not as slow, so it teaches
where not to go and nothing of speed. Optuna is the extra ``tpe``.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from shakedown.domain.errors import UserError
from shakedown.domain.words import StrategyKind
from shakedown.plan.strategies.base import Ask, SearchState
from shakedown.plan.strategies.course import next_launch
from shakedown.plan.strategies.space import BoolArray, Space, space_of
from shakedown.plan.strategies.standing import estimates

_DRAWS = 3
"""Proposals drawn for one launch: what was launched or pruned is drawn again, then the nearest arm is taken."""
_SEED_STRIDE = 100_003
"""Keeps the draws of neighbouring seeds apart; campaigns are far shorter."""


class Tpe:
    """Never knows enough before every arm was launched: give the campaign a budget."""

    kind = StrategyKind.TPE

    def ask(self, state: SearchState) -> Ask | None:
        """Give the next launch.

        Raises:
            UserError: if Optuna is not installed.
        """
        optuna = _optuna()
        return next_launch(state, lambda now: _propose(optuna, now))


def _optuna() -> ModuleType:
    """Import Optuna when it is needed: it takes a second, and most campaigns do without."""
    try:
        import optuna
    except ImportError as error:
        raise UserError(
            "strategy = 'tpe' needs Optuna, which is not installed; "
            "install it with: pip install 'llm-shakedown[tpe]', or choose strategy = 'staged'"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _propose(optuna: ModuleType, state: SearchState) -> str | None:
    space = space_of(state)
    seen = frozenset(state.order)
    unseen = np.array([arm not in seen for arm in space.ids], dtype=np.bool_)
    if not unseen.any():
        return None
    sampler = optuna.samplers.TPESampler(seed=state.seed * _SEED_STRIDE + len(state.order))
    study = optuna.create_study(direction="maximize", sampler=sampler)
    scales = {name: _scale(optuna, space, column) for column, name in enumerate(space.names)}
    study.add_trials(_replayed(optuna, state, space, scales, ~unseen))
    candidates = np.flatnonzero(unseen)
    for _ in range(_DRAWS):
        drawn = study.ask(scales).params
        wanted = np.array([_code(space, column, drawn[name]) for column, name in enumerate(space.names)])
        differences = (space.codes[candidates] != wanted).sum(axis=1)
        nearest = int(np.argmin(differences))
        if not differences[nearest]:
            break
    return space.ids[int(candidates[nearest])]


def _scale(optuna: ModuleType, space: Space, column: int) -> Any:
    """Numbers are searched along their order, words as categories."""
    size = space.sizes[column]
    if space.ranks[column] is not None:
        return optuna.distributions.IntDistribution(0, size - 1)
    return optuna.distributions.CategoricalDistribution(tuple(range(size)))


def _code(space: Space, column: int, drawn: int) -> int:
    """Return the option number of a drawn value: its place in the order of numbers, or the number itself."""
    ranks = space.ranks[column]
    return drawn if ranks is None else int(np.flatnonzero(ranks == drawn)[0])


def _replayed(
    optuna: ModuleType, state: SearchState, space: Space, scales: dict[str, Any], launched: BoolArray
) -> list[Any]:
    """Write every launched arm of the plan's options as a finished trial."""
    known = estimates(state)
    trials = []
    for row in np.flatnonzero(launched & (space.codes >= 0).all(axis=1)):
        params = {}
        for column, name in enumerate(space.names):
            code, ranks = int(space.codes[row, column]), space.ranks[column]
            params[name] = code if ranks is None else int(ranks[code])
        estimate = known.get(space.ids[row])
        trials.append(
            optuna.trial.create_trial(
                params=params,
                distributions=scales,
                value=estimate.mean if estimate else 0.0,
                constraints={"works": -1.0 if estimate else 1.0},
            )
        )
    return trials


STRATEGY = Tpe()
