"""What one request did: every token-bearing event's arrival, kept as it came."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import StrEnum


class RequestError(StrEnum):
    """Why a request failed; the keys of ``errors`` in a point (an HTTP status is ``http_429`` and so on)."""

    CONNECT = "connect"
    TIMEOUT = "timeout"
    BROKEN_STREAM = "broken_stream"
    BAD_JSON = "bad_json"
    EMPTY = "empty"
    SERVER_ERROR = "server_error"
    """An error object inside a 200 stream."""
    CANCELLED = "cancelled"


class TokenCount(StrEnum):
    """Where ``output_tokens`` of a request came from."""

    USAGE = "usage"
    TOKENIZER = "tokenizer"
    EVENTS = "events"


@dataclass(slots=True)
class RequestRecord:
    """One request. Times are ``time.perf_counter_ns`` of the process that held the socket.

    ``arrivals_ns`` are the arrivals of token-bearing events, in order; ``event_tokens`` says how many tokens each
    brought where the server says so, else it is empty.
    """

    index: int
    scheduled_ns: int
    sent_ns: int
    arrivals_ns: array[int] = field(default_factory=lambda: array("q"))
    event_tokens: array[int] = field(default_factory=lambda: array("i"))
    input_tokens: int | None = None
    output_tokens: int | None = None
    token_count: TokenCount = TokenCount.USAGE
    requested_tokens: int | None = None
    error: str | None = None
    """None, or a ``RequestError`` value or ``http_<status>``."""
    error_detail: str = ""
    finish_reason: str | None = None
    prompt_digest: int = 0
    """64-bit hash of the prompt, to prove that none was repeated."""
    drafted_tokens: int | None = None
    accepted_tokens: int | None = None
    end_ns: int = 0
    """When the stream ended, for whatever reason."""
    streamed: bool = True
    """False: the answer came in one body, so its arrival says nothing about the first token."""

    @property
    def ok(self) -> bool:
        """Whether the request succeeded and may enter latencies."""
        return self.error is None
