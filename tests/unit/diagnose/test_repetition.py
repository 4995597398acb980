"""Answers that repeat themselves, in words no pattern knows, and what looks like it and is none."""

import pytest

from shakedown.diagnose.diagnose import diagnose_lines
from shakedown.domain.words import Category

READY = "INFO:     Application startup complete."
SERVING = "INFO 11-29 18:35:25 [loggers.py:257] Engine 000: Avg generation throughput: 41.2 tokens/s, Running: 1 reqs"

REPEATED = [
    "gizmo " * 20,
    " gizmo, gizmo, gizmo" * 6,
    '{"choices":[{"message":{"content":"' + "gizmo " * 20 + '"}}]}',
    "'1 + 1 = " + "\\n\N{ALEMBIC}" * 20 + "'",
    "<|gizmo_token_247|>" * 8,
    "gizmo" * 10,
    "the of a. the, the in of the a; the of in a the the of. " * 4,
]
NO_ANSWERS = [
    (
        "a model that answers well says many different things in the words of its language, and of those only a few "
        "come again before it has said what was asked for; it may well use the same article more than once"
    ),
    "GPU0  X  " + "SYS " * 16,
    "None " * 16,
    "0 " * 40,
    '{"token_logprobs":[' + "null," * 40 + "]}",
    "-" * 80,
    "#" * 80,
    "+---" * 20,
    "\N{FULL BLOCK} " * 20,
    "layers.0.weight layers.1.weight " * 20,
    "INFO 11-29 18:35:25 [logger.py:41] Received request cmpl-7: prompt: '" + "hello " * 40 + "'",
    "Received request cmpl-7: prompt: '" + "hello " * 40 + "'",
]


@pytest.mark.parametrize("answer", REPEATED)
def test_an_answer_that_repeats_itself_is_wrong_output(answer: str) -> None:
    root = diagnose_lines([READY, "", SERVING, answer, "", SERVING]).root
    assert root is not None
    assert (root.signature, root.category, root.line_number) == ("repeated-output", Category.WRONG_OUTPUT, 4)


@pytest.mark.parametrize("line", NO_ANSWERS)
def test_prose_tables_drawings_and_prompts_are_no_repeated_answer(line: str) -> None:
    diagnosis = diagnose_lines([READY, SERVING, line, SERVING])
    assert diagnosis.root is None
    assert not diagnosis.failed


def test_what_failed_goes_before_an_answer_that_repeats_itself() -> None:
    end = "[2026-11-29 18:34:06] Received sigquit from a child process. It usually means the child failed."
    assert diagnose_lines([READY, REPEATED[0], end]).root is None
    root = diagnose_lines([READY, REPEATED[0], "torch.cuda.OutOfMemoryError: x"]).root
    assert root is not None
    assert root.category is Category.DEVICE_OUT_OF_MEMORY
