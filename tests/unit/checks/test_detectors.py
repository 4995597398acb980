import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.checks.answer import Answer, TokenView
from shakedown.checks.detectors import (
    bad_logprobs,
    broken_inside,
    is_one_run,
    latin_share,
    longest_run,
    repetition,
    run_in,
)


def answer(ids, logprob=-0.5, top=None):
    return Answer(text="x" * len(ids), tokens=[TokenView(i, f"<{i}>", logprob, top or {}) for i in ids])


@given(st.lists(st.integers(0, 3)), st.integers(1, 20), st.lists(st.integers(0, 3)))
def test_the_longest_run_is_at_least_any_run_put_in(before, length, after):
    item, found = longest_run([*before, *[9] * length, *after])
    assert found >= length
    assert item == 9 or found > length or before or after


def test_no_items_have_no_run():
    assert longest_run([]) == (None, 0)


def test_a_run_is_told_by_its_text():
    assert run_in(answer([5, 7, 7, 7, 2])) == ("<7>", 3)
    assert run_in(Answer(text="ab!!!!")) == ("!", 4)


@pytest.mark.parametrize(
    ("ids", "stuck"),
    [
        ([0] * 16, True),
        ([3] * 9 + [1, 2], True),
        ([1, 2] * 8, False),
        ([4] * 7, False),
        ([4] * 8 + list(range(9)), False),
    ],
)
def test_only_an_answer_that_is_mostly_one_run_is_stuck(ids, stuck):
    assert is_one_run(answer(ids)) is stuck


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, 0.5])
def test_a_chosen_token_needs_a_finite_log_probability(value):
    assert len(bad_logprobs(answer([1, 2], logprob=value))) == 2


def test_an_alternative_may_be_masked_but_not_nan():
    assert bad_logprobs(answer([1], top={"1": -0.5, "2": -math.inf})) == []
    assert bad_logprobs(answer([1], top={"1": -0.5, "2": math.nan})) != []


@pytest.mark.parametrize(("text", "count"), [("日本", 0), ("日\ufffd", 0), ("\ufffd本\ufffd", 1), ("", 0)])
def test_a_character_cut_by_the_limit_is_no_fault(text, count):
    assert broken_inside(text) == count


def test_repetition_of_loops_and_of_plain_text():
    assert repetition(list("abcdefg")) == 0
    assert repetition(["a", "b"] * 20) > 0.9
    assert repetition([]) == 0


def test_script_is_counted_over_letters():
    assert latin_share("déjà 123") == 1
    assert latin_share("日本 ab") == 0.5
    assert latin_share("123") is None
