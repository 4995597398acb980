import json

import pytest

from shakedown.checks.tasks import exact_tasks, needle_task

TASKS = {task.name: task for task in exact_tasks(3)}


def answer_to(task):
    kind = task.name.split("_")[0]
    if kind == "sum":
        one, other = task.prompt.split("\n")[-1].removesuffix(" =").split(" + ")
        return f" {int(one) + int(other)}"
    words = task.prompt.split(": ")[-1]
    if kind == "copy":
        return f'"{words}"'
    if kind == "sort":
        return ", ".join(sorted(words.split(", ")))
    name, amount = task.prompt.split("The name is ")[1].rstrip(".").split(", the amount ")
    return f"```json\n{json.dumps({'name': name, 'amount': int(amount)})}\n```"


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_the_right_answer_is_right_and_others_are_not(task):
    assert task.right(answer_to(task))
    for other in TASKS.values():
        if other.name.split("_")[0] != task.name.split("_")[0]:
            assert not task.right(answer_to(other)), other.name
    assert not task.right("")
    assert not task.right("!!!!!!!!")


def test_equal_counts_give_equal_tasks():
    assert [task.prompt for task in exact_tasks(3)] == [task.prompt for task in TASKS.values()]


@pytest.mark.parametrize("depth", [0.0, 0.5, 1.0])
def test_the_needle_is_in_the_text_where_it_was_asked_for(depth):
    task = needle_task(2000, depth, 3.0)
    lines = task.prompt.split("\n")
    (place,) = [number for number, line in enumerate(lines) if line.startswith("Note:")]
    assert abs(place / (len(lines) - 3) - depth) < 0.05
    assert task.right(f" {lines[place].split()[-1]}")
    assert not task.right(" 12345.")
    assert len(task.prompt) <= 2000 * 3.0
