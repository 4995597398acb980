"""The JSON body of a request, built before the clock starts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from shakedown.domain.workload import Target
from shakedown.load.prompts import Prompt

PATHS = {"completions": "/v1/completions", "chat": "/v1/chat/completions"}


def body(target: Target, prompt: Prompt, *, ignore_eos: bool) -> bytes:
    """Body for one prompt; ``extra_body`` of the target has the last word, and a null there takes a field away."""
    fields: dict[str, object] = {"model": target.model}
    if target.endpoint == "chat":
        fields["messages"] = prompt.messages or [{"role": "user", "content": prompt.text}]
    else:
        fields["prompt"] = prompt.token_ids or prompt.text
    return _finish(fields, target, prompt.output_tokens, ignore_eos=ignore_eos)


def chat_body(
    target: Target, messages: Sequence[Mapping[str, object]], output_tokens: int, *, ignore_eos: bool
) -> bytes:
    """Body for a conversation so far."""
    fields: dict[str, object] = {"model": target.model, "messages": messages}
    return _finish(fields, target, output_tokens, ignore_eos=ignore_eos)


def _finish(fields: dict[str, object], target: Target, output_tokens: int, *, ignore_eos: bool) -> bytes:
    fields |= {"max_tokens": output_tokens, "temperature": 0, "stream": target.stream}
    if target.stream:
        fields["stream_options"] = {"include_usage": True}
    if ignore_eos:
        fields["ignore_eos"] = True
    fields |= target.extra_body
    kept = {name: value for name, value in fields.items() if value is not None}
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode()


def headers(target: Target) -> dict[str, str]:
    """Headers of every request beyond those of HTTP itself."""
    authorization = {"Authorization": f"Bearer {target.api_key}"} if target.api_key else {}
    return authorization | target.headers
