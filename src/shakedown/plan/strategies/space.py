"""The arms of a search as a matrix of option numbers, for the strategies that reason over dimensions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shakedown.plan.strategies.base import SearchState

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Space:
    """Arms by dimensions. A combination that was pruned has no row; nothing assumes the product is complete."""

    ids: tuple[str, ...]
    names: tuple[str, ...]
    """Dimension of each column."""
    codes: IntArray
    """Option numbers, shape (arms, dimensions): 0 is the reference's option, -1 an option not in the plan."""
    sizes: tuple[int, ...]
    """Options of each dimension."""
    ranks: tuple[IntArray | None, ...]
    """Where all options of a dimension are numbers, at least three: the place of each in their order; else None."""
    weights: FloatArray
    """How much each dimension promises; they add up to 1."""
    pairs: tuple[tuple[int, int], ...]
    """Columns declared to act together."""

    def partners(self, column: int) -> list[int]:
        """Return the columns declared to act together with ``column``."""
        return [a + b - column for a, b in self.pairs if column in (a, b)]


def space_of(state: SearchState) -> Space:
    """Number the options of every arm."""
    names = tuple(state.dimensions)
    numbers = [{label: code for code, label in enumerate(state.dimensions[name])} for name in names]
    rows = [
        [number.get(arm.settings.get(name, ""), -1) for name, number in zip(names, numbers, strict=True)]
        for arm in state.arms
    ]
    column = {name: index for index, name in enumerate(names)}
    pairs = sorted(
        (min(a, b), max(a, b))
        for a, b in (
            [column[name] for name in pair] for pair in state.interacting if len(pair) == 2 and pair <= column.keys()
        )
    )
    weights = np.array([state.weights.get(name, 1.0) for name in names])
    return Space(
        ids=tuple(arm.id for arm in state.arms),
        names=names,
        codes=np.array(rows, dtype=np.int64).reshape(len(rows), len(names)),
        sizes=tuple(len(number) for number in numbers),
        ranks=tuple(_ranks(labels) for labels in state.dimensions.values()),
        weights=weights / weights.sum() if names else weights,
        pairs=tuple(pairs),
    )


def _ranks(labels: tuple[str, ...]) -> IntArray | None:
    try:
        values = np.array([float(label) for label in labels])
    except ValueError:
        return None
    return np.argsort(np.argsort(values)) if len(labels) > 2 else None
