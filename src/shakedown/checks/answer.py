"""One generated answer, read as the server sent it: text, reasons, counts, log-probabilities, tool calls.

Nothing is repaired here. Bytes that are no UTF-8 become U+FFFD and are flagged; numbers that are no numbers stay NaN.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from shakedown.domain.errors import ClientError


@dataclass(frozen=True, slots=True)
class TokenView:
    """One generated token: its id where the server tells, its text, its log-probability and the alternatives'."""

    id: int | None
    text: str
    logprob: float | None
    top: Mapping[str, float | None]
    """Alternative (its id as text where the server tells, else its text) to log-probability; None for JSON null."""


@dataclass(slots=True)
class ToolCall:
    """A tool call as it came: ``arguments`` is the JSON text, parsed by nobody."""

    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class Answer:
    """What one request brought."""

    text: str = ""
    reasoning: str = ""
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    tokens: list[TokenView] = field(default_factory=list)
    tool_calls: list[ToolCall] = field(default_factory=list)
    whole_utf8: bool = True
    events: int = 0
    """Events of a stream that carried something; 0 for an answer in one piece."""
    cancelled: bool = False


def read_answer(raw: bytes) -> Answer:
    """Read the body of a completion or chat completion.

    Raises:
        ClientError: if it is no JSON object with a choice.
    """
    text, whole = _decode(raw)
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ClientError(f"the answer is not JSON: {raw[:200]!r}") from error
    answer = Answer(whole_utf8=whole)
    if not isinstance(document, dict) or not _choices(document):
        raise ClientError(f"the answer has no choices: {text[:200]}")
    _take(answer, document, "message")
    return answer


def read_stream(chunks: Iterable[bytes], stop_after: int | None) -> Answer:
    """Join a stream of server-sent events.

    Raises:
        ClientError: if an event is not JSON, or carries an error object.
    """
    answer = Answer()
    buffer = b""
    for chunk in chunks:
        buffer += chunk
        *lines, buffer = buffer.split(b"\n")
        for line in lines:
            if not line.startswith(b"data:"):
                continue
            data, whole = _decode(line[5:].strip())
            answer.whole_utf8 &= whole
            if data == "[DONE]":
                return answer
            _take_event(answer, data)
            if stop_after is not None and answer.events >= stop_after:
                answer.cancelled = True
                return answer
    return answer


def _take_event(answer: Answer, data: str) -> None:
    try:
        document = json.loads(data)
    except ValueError as error:
        raise ClientError(f"an event of the stream is not JSON: {data[:200]}") from error
    if not isinstance(document, dict):
        raise ClientError(f"an event of the stream is no object: {data[:200]}")
    if "error" in document:
        raise ClientError(f"the stream carries an error: {data[:300]}")
    _take(answer, document, "delta")


def _take(answer: Answer, document: Mapping[str, object], part: str) -> None:
    """Add what one document holds to ``answer``: a whole answer, or one event of a stream."""
    usage = document.get("usage")
    if isinstance(usage, dict):
        answer.prompt_tokens = _count(usage.get("prompt_tokens"))
        answer.completion_tokens = _count(usage.get("completion_tokens"))
        details = usage.get("prompt_tokens_details")
        if isinstance(details, dict):
            answer.cached_tokens = _count(details.get("cached_tokens"))
    for choice in _choices(document)[:1]:
        if isinstance(choice.get("finish_reason"), str):
            answer.finish_reason = str(choice["finish_reason"])
        piece = choice.get(part)
        content = piece if isinstance(piece, dict) else {}
        text = choice.get("text") or content.get("content") or ""
        reasoning = content.get("reasoning_content") or content.get("reasoning") or ""
        answer.text += str(text)
        answer.reasoning += str(reasoning)
        calls = content.get("tool_calls")
        if isinstance(calls, list):
            _take_calls(answer, calls)
        if text or reasoning or calls:
            answer.events += 1
        if isinstance(choice.get("logprobs"), dict):
            answer.tokens += read_logprobs(choice["logprobs"])  # type: ignore[arg-type]


def _take_calls(answer: Answer, calls: list[object]) -> None:
    for order, call in enumerate(calls):
        if not isinstance(call, dict):
            continue
        place = _count(call.get("index"))
        index = order if place is None else place
        while len(answer.tool_calls) <= index:
            answer.tool_calls.append(ToolCall())
        function = call.get("function")
        if isinstance(function, dict):
            answer.tool_calls[index].name += str(function.get("name") or "")
            answer.tool_calls[index].arguments += str(function.get("arguments") or "")


def read_logprobs(block: Mapping[str, object]) -> list[TokenView]:
    """Read either shape: ``content`` (chat; llama.cpp for both endpoints) or parallel lists (completions)."""
    content = block.get("content")
    if isinstance(content, list):
        return [_chat_token(item) for item in content if isinstance(item, dict)]
    tokens, values, tops = block.get("tokens"), block.get("token_logprobs"), block.get("top_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list):
        return []
    lists = tops if isinstance(tops, list) else [None] * len(tokens)
    return [
        TokenView(
            _id_in(str(token)),
            str(token),
            _number(value),
            {_key(str(name)): _number(number) for name, number in top.items()} if isinstance(top, dict) else {},
        )
        for token, value, top in zip(tokens, values, lists, strict=False)
    ]


def _chat_token(item: Mapping[str, object]) -> TokenView:
    tops = item.get("top_logprobs")
    alternatives = [top for top in tops if isinstance(top, dict)] if isinstance(tops, list) else []
    text = str(item.get("token") or "")
    token_id = _count(item.get("id"))
    return TokenView(
        _id_in(text) if token_id is None else token_id,
        text,
        _number(item.get("logprob")),
        {_key(str(top.get("id", top.get("token")))): _number(top.get("logprob")) for top in alternatives},
    )


def _id_in(text: str) -> int | None:
    """Id in vLLM's ``token_id:17``, which it writes on demand in place of the token's text."""
    digits = text.removeprefix("token_id:")
    return int(digits) if digits != text and digits.isdigit() else None


def _key(text: str) -> str:
    return text.removeprefix("token_id:")


def _decode(raw: bytes) -> tuple[str, bool]:
    try:
        return codecs.decode(raw, "utf-8"), True
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace"), False


def _choices(document: Mapping[str, object]) -> list[dict[str, object]]:
    choices = document.get("choices")
    return [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
