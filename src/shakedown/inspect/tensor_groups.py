"""Tensors summed up by role and format."""

from __future__ import annotations

from collections.abc import Sequence

from shakedown.domain.facts import Experts, Role, TensorGroup


class TensorTally:
    """Sums tensors as they are read."""

    def __init__(self) -> None:
        self._sums: dict[tuple[Role, str], list[int]] = {}

    def add(self, role: Role, fmt: str, parameters: int, size_bytes: int, tensors: int = 1) -> None:
        """Count a tensor, or the tensors that make up one quantised matrix."""
        sums = self._sums.setdefault((role, fmt), [0, 0, 0])
        sums[0] += tensors
        sums[1] += parameters
        sums[2] += size_bytes

    def groups(self) -> tuple[TensorGroup, ...]:
        """The sums, largest first."""
        groups = [
            TensorGroup(role=role, format=fmt, tensors=tensors, parameters=parameters, bytes=size)
            for (role, fmt), (tensors, parameters, size) in self._sums.items()
        ]
        return tuple(sorted(groups, key=lambda group: (-group.bytes, group.role, group.format)))


def active_parameters(groups: Sequence[TensorGroup], experts: Experts | None, *, tied: bool) -> int | None:
    """Weights that one token passes through.

    Routed experts count ``per_token`` of ``count``; the embedding is a lookup and counts only where it is the output
    matrix too (``tied``); vision and draft heads do not take part in a decode step. None without tensors.
    """
    if not groups:
        return None
    total = 0.0
    for group in groups:
        if group.role == "routed_expert" and experts is not None:
            total += group.parameters * experts.per_token / experts.count
        elif group.role == "embedding":
            total += group.parameters if tied else 0
        elif group.role not in ("vision", "mtp"):
            total += group.parameters
    return round(total)
