"""What an OpenAI-compatible answer says: tokens, usage, finish reason, error. Pure, used after the request."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shakedown.domain.request import RequestError

Json = Mapping[str, Any]
"""A decoded JSON object of a foreign server: any shape until it was looked at."""

TEXT_KEYS = frozenset({"text", "content", "reasoning_content", "reasoning", "refusal"})
"""Fields of a choice or its delta that hold generated text."""
_DETAIL_LIMIT = 300


@dataclass(slots=True)
class Answer:
    """One response, read. ``arrivals`` and ``event_tokens`` are those of token-bearing events, in order."""

    arrivals: array[int] = field(default_factory=lambda: array("q"))
    event_tokens: array[int] = field(default_factory=lambda: array("i"))
    """Tokens of each event where the server says so, else 0."""
    text: list[str] = field(default_factory=list)
    """Pieces of text; those of a stream only where they were asked for."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    drafted_tokens: int | None = None
    accepted_tokens: int | None = None
    finish_reason: str | None = None
    error: str | None = None
    error_detail: str = ""
    streamed: bool = False
    finished: bool = False
    """The server said that it was done: ``[DONE]``, a finish reason, or a whole JSON body."""
    _reported: int = 0

    def add(self, message: Json, stamp: int) -> None:
        """Take in one message: an event of a stream, or the whole body of an answer that was not streamed."""
        error = message.get("error")
        if error:
            self.fail(RequestError.SERVER_ERROR, error_text(message))
            return
        choices = message.get("choices")
        said = 0
        bearing = False
        if isinstance(choices, list):
            for choice in choices:
                if isinstance(choice, dict):
                    tokens, has = self._choice(choice)
                    said += tokens
                    bearing = bearing or has
        counted = self._counts(message)
        if counted > 0:
            said = counted
            bearing = bearing or bool(choices)
        if bearing:
            self.arrivals.append(stamp)
            self.event_tokens.append(said)

    def fail(self, error: str, detail: str) -> None:
        """Keep the first error."""
        if self.error is None:
            self.error, self.error_detail = error, detail[:_DETAIL_LIMIT]

    def _choice(self, choice: Json) -> tuple[int, bool]:
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.finish_reason = reason
            self.finished = True
        bearing = False
        text = choice.get("text")
        if isinstance(text, str) and text:
            self.text.append(text)
            bearing = True
        part = choice.get("delta") or choice.get("message")
        if isinstance(part, dict):
            bearing = self._delta(part) or bearing
        tokens = _token_count(choice)
        return tokens, bearing or tokens > 0

    def _delta(self, part: Json) -> bool:
        bearing = False
        for key, value in part.items():
            if key in TEXT_KEYS and isinstance(value, str) and value:
                self.text.append(value)
                bearing = True
        calls = part.get("tool_calls") or part.get("function_call")
        if calls:
            self.text.append(_call_text(calls))
            bearing = True
        return bearing

    def _counts(self, message: Json) -> int:
        """Read usage and timings; return how many tokens were reported since the message before."""
        usage = message.get("usage")
        total: object = None
        if isinstance(usage, dict):
            total = usage.get("completion_tokens")
            prompt = usage.get("prompt_tokens")
            if isinstance(prompt, int):
                self.prompt_tokens = prompt
        timings = message.get("timings")
        if isinstance(timings, dict):  # llama.cpp
            if not isinstance(total, int):
                total = timings.get("predicted_n")
            if isinstance(timings.get("draft_n"), int):
                self.drafted_tokens = timings["draft_n"]
                self.accepted_tokens = timings.get("draft_n_accepted")
        if not isinstance(total, int):
            return 0
        self.completion_tokens = total
        before, self._reported = self._reported, total
        # A first total that comes after tokens (the usual last message) says nothing about its own event.
        return total - before if before or not self.arrivals else 0


def _token_count(choice: Json) -> int:
    """Tokens that a choice itself lists: ids (vLLM ``return_token_ids``), or log-probabilities one each."""
    ids = choice.get("token_ids")
    if isinstance(ids, list):
        return len(ids)
    logprobs = choice.get("logprobs")
    if isinstance(logprobs, dict):
        listed = logprobs.get("content") or logprobs.get("tokens")
        if isinstance(listed, list):
            return len(listed)
    return 0


def _call_text(calls: object) -> str:
    """Names and arguments of tool calls, for a tokenizer to count where there is no usage."""
    listed = calls if isinstance(calls, list) else [{"function": calls}]
    functions = [call.get("function") for call in listed if isinstance(call, dict)]
    return "".join(
        str(function.get(key) or "") for function in functions if isinstance(function, dict) for key in _CALL_KEYS
    )


_CALL_KEYS = ("name", "arguments")


def error_text(message: Json) -> str:
    """Say an error object in a line: its message if there is one, else the JSON."""
    error = message.get("error", message)
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        return str(error["message"])
    return error if isinstance(error, str) else json.dumps(error)


def decode(data: bytes, answer: Answer) -> Json | None:
    """Decode one JSON object; anything else is the answer's error."""
    try:
        message = json.loads(data)
    except ValueError as error:
        answer.fail(RequestError.BAD_JSON, f"{error}: {data[:120]!r}")
        return None
    if not isinstance(message, dict):
        answer.fail(RequestError.BAD_JSON, f"expected an object: {data[:120]!r}")
        return None
    return message


def read_whole(body: bytes, stamp: int) -> Answer:
    """Read an answer that was not streamed."""
    answer = Answer()
    message = decode(body, answer)
    if message is not None:
        answer.add(message, stamp)
        answer.finished = True
    return answer


def status_error(status: int, body: bytes) -> tuple[str, str]:
    """Name an HTTP error, with what the server said of it."""
    try:
        message = json.loads(body)
    except ValueError:
        return f"http_{status}", body[:_DETAIL_LIMIT].decode("utf-8", "replace")
    text = error_text(message) if isinstance(message, dict) else str(message)
    return f"http_{status}", text[:_DETAIL_LIMIT]
