"""A number hidden in a text as long as the workload's longest input, asked for at its end; paired."""

from __future__ import annotations

from shakedown.checks.base import Context, Outcome, Rung, skipped
from shakedown.checks.corpus import logbook
from shakedown.checks.paired import judge_tasks
from shakedown.checks.tasks import needle_task
from shakedown.domain.words import GateLevel, Verdict

SHORTEST = 256
"""Below this the text is no haystack."""
DEPTHS = {GateLevel.STANDARD: (0.3,), GateLevel.THOROUGH: (0.0, 0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.95)}


class _Needle:
    name = "needle"
    rung = Rung.TASKS
    level = GateLevel.STANDARD
    fails_as = Verdict.INACCURATE

    def run(self, context: Context) -> Outcome:
        longest = context.gates.context_tokens
        if longest < SHORTEST:
            return skipped(f"the workload's longest input has {longest} tokens, too few to hide something in")
        sample = logbook(20, 0)
        ids = context.token_ids(sample)
        lengths = [longest] if context.gates.level is GateLevel.STANDARD else sorted({longest // 2, longest})
        tasks = [
            needle_task(length, depth, len(sample) / len(ids))
            for length in lengths
            for depth in DEPTHS[context.gates.level]
        ]
        answers = {
            task.name: task.right(
                context.server.generate(task.prompt, max_tokens=task.max_tokens, temperature=0.0).text
            )
            for task in tasks
        }
        return judge_tasks(context, answers)


CHECK = _Needle()
