"""Task answers held against the reference's: only the tasks on which the two differ say anything."""

from __future__ import annotations

from collections.abc import Mapping

from shakedown.checks.base import Context, Outcome, failed, passed, skipped
from shakedown.stats.proportion import mcnemar, wilson

P_WORSE = 0.01
"""A split between lost and won tasks that is less likely than this by chance fails; a task or two always flips."""


def judge_tasks(context: Context, answers: Mapping[str, bool]) -> Outcome:
    """Record the answers for a reference that is being written, or compare them with the reference's."""
    right = sum(answers.values())
    evidence: dict[str, object] = {"right": right, "tasks": len(answers), "interval": list(wilson(right, len(answers)))}
    told = f"{right} of {len(answers)} tasks right"
    if context.draft is not None:
        earlier = context.draft.get("tasks", {})
        assert isinstance(earlier, dict)
        context.record(tasks=earlier | dict(answers))
        return passed(f"{told}, recorded", **evidence)
    wanted = context.reference.tasks if context.reference is not None else {}
    shared = [name for name in answers if name in wanted]
    if not shared:
        return skipped(f"{told}; no reference to compare with", **evidence)
    pairs = mcnemar([wanted[name] for name in shared], [answers[name] for name in shared])
    evidence |= {
        "reference_right": pairs.both + pairs.only_reference,
        "lost": [name for name in shared if wanted[name] and not answers[name]],
        "won": [name for name in shared if answers[name] and not wanted[name]],
        "p_worse": pairs.p_worse,
        "limit": P_WORSE,
    }
    if pairs.p_worse < P_WORSE:
        return failed(
            f"{told}: {pairs.only_reference} lost and {pairs.only_candidate} won against the reference "
            f"(McNemar p = {pairs.p_worse:.4f})",
            **evidence,
        )
    return passed(f"{told}, the reference {pairs.both + pairs.only_reference}", **evidence)
