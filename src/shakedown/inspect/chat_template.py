"""Markers in a chat template that tell how a model writes its reasoning and its tool calls."""

from __future__ import annotations

# DeepSeek writes its markers with a fullwidth bar (U+FF5C) and a lower block (U+2581).
MARKERS = (
    "<think>",
    "enable_thinking",
    "<|channel|>",
    "<tool_call>",
    "<function=",
    "<parameter=",
    "<arg_key>",
    "<|tool_calls_section_begin|>",
    "<\uff5ctool\u2581calls\u2581begin\uff5c>",
    "<\uff5cDSML\uff5c",
    "<minimax:tool_call>",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<|tool_call|>",
    "<seed:tool_call>",
)


def markers_in(template: str) -> tuple[str, ...]:
    """Return the markers that a template holds."""
    return tuple(marker for marker in MARKERS if marker in template)
