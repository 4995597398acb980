import json
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.client.http_response import Framing, available, read_body, read_head
from shakedown.client.spool import Spool
from shakedown.client.sse import next_event
from shakedown.client.stream import read_stream

texts = st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=20)


def stream_of(parts: list[str], *, chat: bool, ends: str = "\n") -> list[bytes]:
    """SSE events of a stream, one bytes object each, finish and [DONE] included."""
    messages: list[dict[str, object]] = []
    for part in parts:
        choice = {"delta": {"content": part}} if chat else {"text": part}
        messages.append({"id": "x", "choices": [{"index": 0, **choice, "finish_reason": None}]})
    last = {"delta": {}} if chat else {"text": ""}
    messages.append({"id": "x", "choices": [{"index": 0, **last, "finish_reason": "length"}]})
    payloads = [json.dumps(message, ensure_ascii=False, separators=(",", ":")) for message in messages]
    return [f"data: {payload}{ends}{ends}".encode() for payload in [*payloads, "[DONE]"]]


@given(texts, st.booleans(), st.sampled_from(["\n", "\r\n", "\r"]), st.integers(1, 40))
@settings(max_examples=200)
def test_any_cut_of_the_bytes_gives_the_same_tokens_each_when_its_last_byte_came(
    parts: list[str], chat: bool, ends: str, step: int
) -> None:
    events = stream_of(parts, chat=chat, ends=ends)
    body = b"".join(events)
    offsets = [*range(step, len(body), step), len(body)]
    answer = read_stream(body, offsets, array("q", range(len(offsets))), keep_text=True)
    assert answer.error is None
    assert answer.finished
    assert "".join(answer.text) == "".join(parts)
    at = 0
    for event, arrived in zip(events, answer.arrivals, strict=False):
        payload_end = at + len(event) - 2 * len(ends)
        assert offsets[arrived] >= payload_end
        assert arrived == 0 or offsets[arrived - 1] < payload_end
        at += len(event)
    assert len(answer.arrivals) == len(parts)


@given(texts, st.booleans())
def test_the_short_way_reads_what_the_long_way_reads(parts: list[str], chat: bool) -> None:
    body = b"".join(stream_of(parts, chat=chat))
    spaced = body.replace(b"data: ", b"data:  ")  # a second space keeps the short way from matching
    fast = read_stream(body, [len(body)], array("q", [7]), keep_text=True)
    slow = read_stream(spaced, [len(spaced)], array("q", [7]), keep_text=True)
    assert (fast.arrivals, fast.text, fast.finish_reason) == (slow.arrivals, slow.text, slow.finish_reason)


def read(*events: bytes) -> tuple[list[int], list[int]]:
    body = b"".join(events)
    ends, at = [], 0
    for event in events:
        at += len(event)
        ends.append(at)
    answer = read_stream(body, ends, array("q", range(len(events))))
    return list(answer.arrivals), list(answer.event_tokens)


def message(**fields: object) -> bytes:
    return b"data: " + json.dumps(fields).encode() + b"\n\n"


def delta(usage: int | None = None, **delta: object) -> bytes:
    extra = {} if usage is None else {"usage": {"prompt_tokens": 3, "completion_tokens": usage}}
    return message(choices=[{"index": 0, "delta": delta, "finish_reason": None}], **extra)


def test_a_role_or_an_empty_text_is_no_token() -> None:
    assert read(delta(role="assistant", content=""), delta(content="a"), delta(content=None))[0] == [1]


def test_reasoning_and_tool_calls_are_tokens() -> None:
    call = [{"index": 0, "function": {"name": "f", "arguments": "{"}}]
    events = (delta(reasoning_content="a"), delta(reasoning="b"), delta(tool_calls=call), delta(content="c"))
    assert read(*events)[0] == [0, 1, 2, 3]


def test_running_usage_says_how_many_tokens_an_event_brought() -> None:
    arrivals, tokens = read(delta(0, role="assistant"), delta(1, content="a"), delta(4, content="bcd"), delta(4))
    assert (arrivals, tokens) == ([1, 2], [1, 3])


def test_usage_at_the_end_is_no_token_of_its_own() -> None:
    final = message(choices=[{"index": 0, "text": "", "finish_reason": "length"}], usage={"completion_tokens": 2})
    tokens = [message(choices=[{"index": 0, "text": text}]) for text in "ab"]
    assert read(*tokens, final)[0] == [0, 1]


def test_several_tokens_in_one_event_by_ids_or_logprobs() -> None:
    ids = message(choices=[{"index": 0, "text": "ab", "token_ids": [1, 2]}])
    logprobs = message(choices=[{"index": 0, "text": "ab", "logprobs": {"content": [{}, {}, {}]}}])
    assert read(ids, logprobs)[1] == [2, 3]


def test_data_over_several_lines_is_joined() -> None:
    body = b'event: message\ndata: {"choices":\ndata: [{"text": "a"}]}\nid: 3\n\n'
    assert next_event(body, 0, plain=True)[0] == b'{"choices":\n[{"text": "a"}]}'


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=20), st.integers(1, 64))
def test_chunks_come_apart_as_they_were_put_together(parts: list[bytes], step: int) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    raw = head + b"".join(b"%X;x=1\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    parsed = read_head(raw)
    assert parsed is not None
    body = read_body(raw, parsed)
    assert body.complete
    assert body.data == b"".join(parts)
    assert not read_body(raw[:-3], parsed).complete
    ends = [*range(step, len(raw), step), len(raw)]
    seen = available(ends, body.spans)
    assert seen == sorted(seen)
    assert seen[-1] == len(body.data)
    for end, count in zip(ends, seen, strict=True):
        assert read_body(raw[:end], parsed).data == body.data[:count] or end < parsed.size


def test_heads() -> None:
    assert read_head(b"HTTP/1.1 200 OK\r\nContent-Le") is None
    assert read_head(b"HT") is None
    interim = read_head(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n")
    assert interim is not None
    assert (interim.status, interim.framing, interim.length) == (204, Framing.LENGTH, 0)
    old = read_head(b"HTTP/1.0 200 OK\r\n\r\n")
    assert old is not None
    assert (old.framing, old.keep_alive) == (Framing.CLOSE, False)
    busy = read_head(b"HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n")
    assert busy is not None
    assert busy.retry_after_s == 7
    with pytest.raises(ValueError, match="not an HTTP response"):
        read_head(b"220 smtp ready\r\n\r\n")


@given(st.lists(st.tuples(st.lists(st.integers(0, 2**60), max_size=5), st.binary(max_size=200)), max_size=20))
def test_a_spool_gives_back_what_it_took_from_memory_and_disk(parts: list[tuple[list[int], bytes]]) -> None:
    spool = Spool(budget_bytes=300)
    kept = [spool.append(array("q", stamps), array("q", stamps), raw) for stamps, raw in parts]
    for segment, (stamps, raw) in zip(kept, parts, strict=True):
        assert spool.read([segment]) == (array("q", stamps), array("q", stamps), raw)
    together = spool.read(kept)
    assert together[2] == b"".join(raw for _, raw in parts)
    assert list(together[0]) == [stamp for stamps, _ in parts for stamp in stamps]
    spool.close()
