"""Arithmetic, copying, sorting and filling JSON, paired with the reference's answers to the same tasks."""

from __future__ import annotations

from shakedown.checks.base import Context, Outcome, Rung, needs
from shakedown.checks.paired import judge_tasks
from shakedown.checks.parallel import in_parallel
from shakedown.checks.tasks import Task, exact_tasks
from shakedown.domain.words import GateLevel, Verdict

COUNT = {GateLevel.STANDARD: 6, GateLevel.THOROUGH: 40}
"""Tasks of each of the four kinds. 24 pairs show a loss of a third; 160 one of a tenth."""


class _ExactTasks:
    name = "exact_tasks"
    rung = Rung.TASKS
    level = GateLevel.STANDARD
    fails_as = Verdict.INACCURATE

    def run(self, context: Context) -> Outcome:
        def answer(task: Task) -> tuple[str, bool]:
            messages = [{"role": "user", "content": task.prompt}]
            told = context.server.chat(messages, max_tokens=task.max_tokens, temperature=0.0)
            return task.name, task.right(told.text)

        with needs("the server has no chat endpoint"):
            answers = in_parallel(answer, exact_tasks(COUNT[context.gates.level]), at_once=4)
        return judge_tasks(context, dict(answers))


CHECK = _ExactTasks()
