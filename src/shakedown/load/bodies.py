"""The JSON body of a request, built before the clock starts."""

from __future__ import annotations

import json

from shakedown.domain.workload import Target
from shakedown.load.messages import Session
from shakedown.load.prompts import Prompt

PATHS = {"completions": "/v1/completions", "chat": "/v1/chat/completions"}

_MARK = "\u0000conversation\u0000"


def body(target: Target, prompt: Prompt, *, ignore_eos: bool) -> bytes:
    """Body for one prompt; ``extra_body`` of the target has the last word, and a null there takes a field away."""
    content: object
    if target.endpoint == "chat":
        content = prompt.messages or [{"role": "user", "content": prompt.text}]
    else:
        content = prompt.token_ids or prompt.text
    return _dump(_fields(target, content, prompt.output_tokens, ignore_eos=ignore_eos))


def session(target: Target, prompt: Prompt, *, ignore_eos: bool) -> Session | None:
    """What a worker needs to build the further turns of a session; None for a single request."""
    if not prompt.follow_ups:
        return None
    whole = _dump(_fields(target, _MARK, prompt.output_tokens, ignore_eos=ignore_eos))
    before, after = whole.split(_dump(_MARK))
    if target.endpoint == "chat":
        before, after = before + b"[", b"]" + after
        said = b'{"role":"user","content":%b}' % _dump(prompt.text)
        pattern = b',{"role":"assistant","content":"%b"},{"role":"user","content":"%b"}'
    else:
        before, after = before + b'"', b'"' + after
        said = _inner(prompt.text)
        pattern = b"%b\\n\\n%b"
    return Session(before, after, said, pattern, [_inner(text) for text in prompt.follow_ups], prompt.think_s)


def _inner(text: str) -> bytes:
    """A JSON string without its quotes."""
    return _dump(text)[1:-1]


def _fields(target: Target, content: object, output_tokens: int, *, ignore_eos: bool) -> dict[str, object]:
    fields: dict[str, object] = {
        "model": target.model,
        "messages" if target.endpoint == "chat" else "prompt": content,
        "max_tokens": output_tokens,
        "temperature": 0,
        "stream": target.stream,
    }
    if target.stream:
        fields["stream_options"] = {"include_usage": True}
    if ignore_eos:
        fields["ignore_eos"] = True
    fields |= target.extra_body
    return {name: value for name, value in fields.items() if value is not None}


def _dump(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def headers(target: Target) -> dict[str, str]:
    """Headers of every request beyond those of HTTP itself."""
    authorization = {"Authorization": f"Bearer {target.api_key}"} if target.api_key else {}
    return authorization | target.headers
