"""One configuration with two numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.view import Judged
from shakedown.judge.wording import percent
from shakedown.stats.arms import Arm, launch_scores, point_weights, repeat_scores

KIND = FindingKind.UNEXPLAINED_DIFFERENCE

_LAUNCH_EFFECT = 0.05
"""Relative difference between launches of one configuration that is still ordinary."""
_ERRORS = 4.0
"""Standard errors of the repeats that the difference must exceed as well."""


def find(judged: Judged) -> Iterator[Finding]:
    """Launches of one candidate further apart than twice the margin, 5 % and what their repeats scatter."""
    ordinary = max(math.log1p(_LAUNCH_EFFECT), 2 * math.log1p(judged.evidence.margin))
    for candidate_id, arm in judged.experiment.arms.items():
        if len(arm.launches) < 2:
            continue
        weights = point_weights(arm.points(), judged.experiment.workload_weights)
        scores = launch_scores(arm, weights)
        apart = max(scores) - min(scores)
        if apart <= max(ordinary, _ERRORS * _repeat_error(arm)):
            continue
        figures = [math.exp(score) for score in scores]
        yield Finding(
            kind=KIND,
            summary=(
                f"{judged.label(candidate_id)} has two numbers: its launches are {percent(math.expm1(apart))} apart, "
                "and nothing that was asked for differs."
            ),
            evidence={
                "launches": [trial.id for trial in judged.trials[candidate_id] if trial.points],
                "objective_of_each_launch": figures,
            },
            candidates=(candidate_id,),
            advice="Compare the logs and effective settings of these launches, look for another user of the machine, "
            "and launch it again before believing either number.",
        )


def _repeat_error(arm: Arm) -> float:
    """Largest standard error of a launch's score by its own repeats; 0 where it has a single round."""
    errors = [0.0]
    for launch in arm.launches:
        alone = Arm((launch,))
        scores = repeat_scores(alone, point_weights(alone.points(), {}))
        if len(scores) > 1:
            mean = sum(scores) / len(scores)
            errors.append(math.sqrt(sum((s - mean) ** 2 for s in scores) / (len(scores) - 1) / len(scores)))
    return max(errors)
