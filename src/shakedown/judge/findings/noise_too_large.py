"""Measurements too noisy to decide what the campaign asked."""

from __future__ import annotations

import math
from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import ComparisonStatus, FindingKind
from shakedown.judge.view import Judged
from shakedown.judge.wording import counted, listed, percent
from shakedown.stats.variance import Components

KIND = FindingKind.NOISE_TOO_LARGE


def find(judged: Judged) -> Iterator[Finding]:
    """Candidates that cannot be told from the winner, with intervals wider than the margin."""
    if judged.winner is None:
        return
    wide: dict[str, float] = {}
    unrepeated = False
    for candidate_id in judged.experiment.arms:
        ratio = judged.experiment.compare(candidate_id, judged.winner) if candidate_id != judged.winner else None
        if ratio is None or ratio.status is not ComparisonStatus.INCONCLUSIVE:
            continue
        if ratio.equivalence_half_width is None:
            unrepeated, wide[candidate_id] = True, math.inf
        elif ratio.equivalence_half_width > judged.evidence.margin:
            wide[candidate_id] = ratio.equivalence_half_width
    if not wide:
        return
    names = listed([judged.label(candidate_id) for candidate_id in wide])
    unit = "launch" if judged.experiment.launch_variance_measured else "repeat"
    half = max(wide.values())
    if unrepeated:
        told, advice = "nothing was repeated, so there is no noise to compare with", "Set repeats = 3 under [decide]."
    else:
        arms = [judged.experiment.arms[candidate_id] for candidate_id in wide]
        now = min(len(arm.launches) for arm in arms) if unit == "launch" else judged.evidence.repeats
        # The half width shrinks with the square root of the number of replicates.
        needed = math.ceil(now * (half / judged.evidence.margin) ** 2)
        told = f"the interval is ±{percent(half)}, the margin {percent(judged.evidence.margin)}"
        advice = f"About {counted(needed, unit)} instead of {now} would decide; or accept a wider margin."
    scatter = judged.experiment.components()
    yield Finding(
        kind=KIND,
        summary=f"{names} cannot be told from the winner {judged.label(judged.winner)}: {told}{_sources(scatter)}.",
        evidence={
            "half_width": {judged.label(key): None if math.isinf(value) else value for key, value in wide.items()},
            "margin": judged.evidence.margin,
            "launch_sd": scatter.launch_sd,
            "repeat_sd": scatter.repeat_sd,
        },
        candidates=(judged.winner, *wide),
        advice=advice,
    )


def _sources(scatter: Components) -> str:
    """Where the noise comes from, in a clause."""
    parts = [
        f"{name} scatter by {percent(deviation)}"
        for name, deviation in (("launches", scatter.launch_sd), ("repeats", scatter.repeat_sd))
        if deviation is not None
    ]
    return f" ({', '.join(parts)})" if parts else ""
