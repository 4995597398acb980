"""Reading a whole recorded event stream: which event came when, and what all of them say together."""

from __future__ import annotations

import contextlib
import json
from array import array
from bisect import bisect_left

from shakedown.client.answers import TEXT_KEYS, Answer, Json, decode
from shakedown.client.sse import next_event


def read_stream(body: bytes, offsets: list[int], stamps: array[int], *, keep_text: bool = False) -> Answer:
    """Read an event stream; ``offsets[i]`` body bytes had come at ``stamps[i]``.

    An event arrived when the last byte of its data did. Most events of a stream differ from the one before in nothing
    but their text. Those are recognised by the bytes around the text, at a tenth of the cost of decoding them; the
    text itself is only kept on demand.
    """
    answer = Answer(streamed=True)
    arrived, brought = answer.arrivals.append, answer.event_tokens.append
    find, startswith = body.find, body.startswith
    plain = b"\r" not in body
    lead, tail = b"", b""
    lead_size, tail_size = 0, 0
    last = len(stamps) - 1
    number = 0
    at = 0
    while at < len(body):
        if lead and startswith(lead, at):
            opening = at + lead_size
            closing = find(b'"', opening)
            # A text without a quote inside, not empty, and the known bytes after it: nothing else differs.
            if closing > opening and startswith(tail, closing) and body[closing - 1] != _BACKSLASH:
                end = closing + tail_size - 2
                if number < last and offsets[number] < end:
                    number = bisect_left(offsets, end, number, last)
                arrived(stamps[number])
                brought(0)
                if keep_text:
                    answer.text.append(_unescaped(body[opening:closing]))
                at = end + 2
                continue
        data, end, after = next_event(body, at, plain=plain)
        if number < last and offsets[number] < end:
            number = bisect_left(offsets, end, number, last)
        if data is not None:
            message = _take(answer, data, stamps[number])
            if message is not None and (around := _around_text(data, message)) is not None:
                lead, tail = b"data: " + around[0], around[1] + b"\n\n"
                lead_size, tail_size = len(lead), len(tail)
        at = after
    return answer


_BACKSLASH = 0x5C


def _take(answer: Answer, data: bytes, stamp: int) -> Json | None:
    if data.strip() == b"[DONE]":
        answer.finished = True
        return None
    message = decode(data, answer)
    if message is not None:
        answer.add(message, stamp)
    return message


def _unescaped(text: bytes) -> str:
    with contextlib.suppress(ValueError):
        return str(json.loads(b'"%b"' % text))
    return text.decode("utf-8", "replace")


def _around_text(data: bytes, message: Json) -> tuple[bytes, bytes] | None:
    """The bytes before and after the one text of an event that brings nothing else; None for any other event.

    The first part ends with the quote that opens the text's JSON string, the second begins with the one that closes
    it.
    """
    key = _only_text(message)
    if key is None:
        return None
    parts = data.split(b'"%b":' % key.encode())
    if len(parts) != 2:
        return None
    opening = len(data) - len(parts[1].lstrip(b" ")) + 1
    closing = data.find(b'"', opening)
    if data[opening - 1 : opening] != b'"' or data[closing - 1] == _BACKSLASH:
        return None
    return data[:opening], data[closing:]


def _only_text(message: Json) -> str | None:
    """Name of the one text field of a message that neither counts, ends, fails nor brings anything else."""
    choices = message.get("choices")
    if any(message.get(key) for key in ("usage", "timings", "error")) or not isinstance(choices, list):
        return None
    if len(choices) != 1 or not isinstance(choices[0], dict):
        return None
    choice = choices[0]
    delta = choice.get("delta")
    holder = delta if isinstance(delta, dict) else choice
    brought = {name for part in (choice, holder) for name, value in part.items() if value} - {"index", "delta", "role"}
    return brought.pop() if len(brought) == 1 and brought <= TEXT_KEYS else None
