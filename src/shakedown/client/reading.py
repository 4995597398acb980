"""From a finished exchange to a request record: where framing, events and usage are finally read."""

from __future__ import annotations

from array import array

from shakedown.client.answers import Answer, read_whole, status_error
from shakedown.client.exchange import Exchange
from shakedown.client.http_response import available, read_body, read_head
from shakedown.client.spool import Spool
from shakedown.client.stream import read_stream
from shakedown.domain.request import RequestError, RequestRecord, TokenCount


def read_answer(exchange: Exchange, spool: Spool, *, keep_text: bool = False) -> Answer:
    """Read what came; errors of the wire, the stream and the server are told apart and kept in the answer."""
    stamps, ends, raw = spool.read(exchange.segments)
    answer = _read(raw, ends, stamps, keep_text=keep_text)
    if exchange.error is not None:
        answer.error, answer.error_detail = exchange.error, exchange.error_detail
    return answer


def _read(raw: bytes, ends: array[int], stamps: array[int], *, keep_text: bool) -> Answer:
    answer = Answer()
    try:
        head = read_head(raw) if raw else None
        if head is None:
            answer.fail(RequestError.BROKEN_STREAM, f"no response head in {len(raw)} bytes")
            return answer
        body = read_body(raw, head)
    except ValueError as error:
        answer.fail(RequestError.BROKEN_STREAM, str(error))
        return answer
    if head.status != 200:
        answer.fail(*status_error(head.status, body.data))
        return answer
    if "json" in head.headers.get("content-type", "") or body.data[:1] == b"{":
        answer = read_whole(body.data, stamps[-1])
    else:
        answer = read_stream(body.data, available(ends.tolist(), body.spans), stamps, keep_text=keep_text)
    if not body.complete or not answer.finished:
        answer.fail(RequestError.BROKEN_STREAM, f"the stream stopped after {len(body.data)} bytes without an end")
    elif not answer.arrivals:
        answer.fail(RequestError.EMPTY, f"finished ({answer.finish_reason}) without a token")
    return answer


def to_record(exchange: Exchange, answer: Answer, *, requested_tokens: int | None, digest: int) -> RequestRecord:
    """Put times and counts together.

    ``output_tokens`` is the server's usage, else the sum of what its events said, else the number of events, and
    ``token_count`` says which.
    """
    said = sum(answer.event_tokens)
    output_tokens: int | None
    every_event_said = bool(answer.event_tokens) and 0 not in answer.event_tokens
    if answer.completion_tokens is not None:
        output_tokens, source = answer.completion_tokens, TokenCount.USAGE
    elif every_event_said:
        output_tokens, source = said, TokenCount.USAGE
    else:
        output_tokens, source = len(answer.arrivals) or None, TokenCount.EVENTS
    told = every_event_said and answer.streamed and said == output_tokens
    return RequestRecord(
        index=exchange.index,
        scheduled_ns=exchange.scheduled_ns,
        sent_ns=exchange.sent_ns,
        arrivals_ns=answer.arrivals,
        event_tokens=answer.event_tokens if told else array("i"),
        input_tokens=answer.prompt_tokens,
        output_tokens=output_tokens,
        token_count=source,
        requested_tokens=requested_tokens,
        error=answer.error,
        error_detail=answer.error_detail,
        finish_reason=answer.finish_reason,
        prompt_digest=digest,
        drafted_tokens=answer.drafted_tokens,
        accepted_tokens=answer.accepted_tokens,
        end_ns=exchange.end_ns,
        streamed=answer.streamed,
    )
