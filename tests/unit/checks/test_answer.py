import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.checks.answer import read_answer, read_stream
from shakedown.domain.errors import ClientError


def body(choice, **more):
    return json.dumps({"choices": [choice], **more}, ensure_ascii=False).encode()


def event(choice, **more):
    return b"data: " + body(choice, **more) + b"\n\n"


def test_a_completion_is_read_with_its_counts():
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}
    answer = read_answer(body({"text": " Paris.", "finish_reason": "length"}, usage=usage))
    assert (answer.text, answer.finish_reason) == (" Paris.", "length")
    assert (answer.prompt_tokens, answer.completion_tokens, answer.cached_tokens) == (3, 2, 1)


def test_missing_counts_are_none():
    answer = read_answer(body({"text": "a"}))
    assert (answer.prompt_tokens, answer.completion_tokens, answer.cached_tokens) == (None, None, None)


def test_log_probabilities_in_the_chat_shape():
    top = [{"id": 7, "token": "a", "logprob": -0.1}, {"id": 8, "token": "b", "logprob": -2.5}]
    answer = read_answer(
        body({"logprobs": {"content": [{"id": 7, "token": "a", "logprob": -0.1, "top_logprobs": top}]}})
    )
    (token,) = answer.tokens
    assert (token.id, token.text, token.logprob, token.top) == (7, "a", -0.1, {"7": -0.1, "8": -2.5})


def test_log_probabilities_in_the_completions_shape_with_ids_for_names():
    logprobs = {
        "tokens": ["token_id:7"],
        "token_logprobs": [-0.1],
        "top_logprobs": [{"token_id:7": -0.1, "token_id:8": -2.5}],
    }
    (token,) = read_answer(body({"text": "a", "logprobs": logprobs})).tokens
    assert (token.id, token.top) == (7, {"7": -0.1, "8": -2.5})


@pytest.mark.parametrize(("raw", "read"), [("NaN", math.isnan), ("null", lambda value: value is None)])
def test_numbers_that_are_none_are_kept_as_they_came(raw, read):
    data = body({"logprobs": {"tokens": ["a"], "token_logprobs": ["HERE"], "top_logprobs": None}})
    (token,) = read_answer(data.replace(b'"HERE"', raw.encode())).tokens
    assert read(token.logprob)


def test_bytes_that_are_no_utf8_are_flagged_and_not_raised():
    answer = read_answer(body({"text": "日本"}).replace("本".encode(), "本".encode()[:2]))
    assert not answer.whole_utf8
    assert answer.text == "日\ufffd"


@pytest.mark.parametrize("raw", [b"<html>", b"[]", b'{"error": 1}'])
def test_what_is_no_answer_is_an_error(raw):
    with pytest.raises(ClientError):
        read_answer(raw)


@given(st.text(min_size=1, max_size=60), st.lists(st.integers(1, 40), min_size=1, max_size=30))
def test_a_stream_is_joined_however_its_bytes_are_cut(text, cuts):
    raw = b"".join(event({"delta": {"content": piece}}) for piece in text) + b"data: [DONE]\n\n"
    chunks, start = [], 0
    for cut in cuts:
        chunks.append(raw[start : start + cut])
        start += cut
    chunks.append(raw[start:])
    answer = read_stream(chunks, None)
    assert answer.text == text
    assert answer.whole_utf8


def test_tool_calls_of_a_stream_are_joined_by_their_index():
    def call(index, **function):
        return event({"delta": {"tool_calls": [{"index": index, "function": function}]}})

    raw = [call(0, name="a", arguments='{"x"'), call(1, name="b", arguments="{}"), call(0, arguments=": 1}")]
    answer = read_stream(raw, None)
    assert [(made.name, made.arguments) for made in answer.tool_calls] == [("a", '{"x": 1}'), ("b", "{}")]


def test_a_stream_is_left_after_the_events_asked_for():
    answer = read_stream([event({"text": str(number)}) for number in range(9)], 2)
    assert (answer.text, answer.cancelled) == ("01", True)


def test_reasoning_is_kept_apart_and_usage_comes_last():
    raw = [event({"delta": {"reasoning_content": "so"}}), event({"delta": {"content": "4"}, "finish_reason": "stop"})]
    raw.append(b'data: {"choices": [], "usage": {"completion_tokens": 2}}\n\n')
    answer = read_stream(raw, None)
    assert (answer.reasoning, answer.text, answer.finish_reason, answer.completion_tokens) == ("so", "4", "stop", 2)


@pytest.mark.parametrize("data", [b'data: {"error": {"message": "out of memory"}}\n\n', b"data: {broken\n\n"])
def test_an_error_inside_a_stream_is_raised(data):
    with pytest.raises(ClientError):
        read_stream([data], None)
