"""Tool calls must parse to the JSON that was asked for, whole and streamed.

Under speculation several tokens arrive at once, and parsers that expect one at a time lose some of them
(vllm-project/vllm issue 35936). A model too weak to call tools says nothing about the parser: skipped.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from shakedown.checks.answer import Answer, ToolCall
from shakedown.checks.base import Context, Outcome, Rung, failed, needs, passed, skipped
from shakedown.checks.schema import faults
from shakedown.domain.words import GateLevel, Verdict

CITIES = ["Oslo", "Lagos", "Quito", "Hanoi"]
WEATHER: dict[str, object] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "enum": CITIES},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
    },
    "required": ["city", "unit"],
    "additionalProperties": False,
}
ROUTE: dict[str, object] = {
    "type": "object",
    "properties": {
        "stops": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2,
            "items": {
                "type": "object",
                "properties": {"city": {"type": "string", "enum": CITIES}, "overnight": {"type": "boolean"}},
                "required": ["city", "overnight"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["stops"],
    "additionalProperties": False,
}
TOKENS = 160


@dataclass(frozen=True, slots=True)
class _Case:
    name: str
    tool: str
    schema: dict[str, object]
    request: str
    parallel: bool = False


CASES = (
    _Case("single", "get_weather", WEATHER, "What is the weather in Oslo, in celsius? Use the tool."),
    _Case("nested", "plan_route", ROUTE, "Plan a route with a stop in Quito, overnight. Use the tool."),
    _Case(
        "parallel",
        "get_weather",
        WEATHER,
        "Get the weather of Oslo and of Lagos in celsius, both at once.",
        parallel=True,
    ),
)


class _ToolCalls:
    name = "tool_calls"
    rung = Rung.INTERFACES
    level = GateLevel.STANDARD
    fails_as = Verdict.GARBAGE

    def run(self, context: Context) -> Outcome:
        made: dict[str, list[str]] = {}
        for case in CASES:
            for streamed in (False, True):
                how = f"{case.name}, {'streamed' if streamed else 'whole'}"
                with needs("the server takes no tools"):
                    answer = _ask(context, case, streamed=streamed)
                if answer.finish_reason == "length" or not answer.tool_calls:
                    continue
                wrong = _wrong(answer, case)
                made[how] = [call.arguments for call in answer.tool_calls]
                if wrong:
                    return failed(f"tool call ({how}) is broken: {wrong}", arguments=made[how], events=answer.events)
        if not made:
            return skipped("the model called no tool, so nothing is known of the parser")
        return passed(f"{len(made)} of {2 * len(CASES)} requests brought tool calls, all whole", calls=made)


CHECK = _ToolCalls()


def _ask(context: Context, case: _Case, *, streamed: bool) -> Answer:
    function = {"name": case.tool, "description": "Use it to answer.", "parameters": case.schema}
    fields: dict[str, object] = {
        "messages": [{"role": "user", "content": case.request}],
        "tools": [{"type": "function", "function": function}],
        "tool_choice": "required",
        "max_tokens": TOKENS,
        "temperature": 0.0,
    }
    if case.parallel:
        fields["parallel_tool_calls"] = True
    path = "/v1/chat/completions"
    return context.server.stream(path, fields) if streamed else context.server.post(path, fields)


def _wrong(answer: Answer, case: _Case) -> str | None:
    for call in answer.tool_calls:
        fault = _call_fault(call, case)
        if fault is not None:
            return fault
    return None


def _call_fault(call: ToolCall, case: _Case) -> str | None:
    if call.name != case.tool:
        return f"it calls {call.name!r}, the only tool is {case.tool!r}"
    try:
        found = faults(json.loads(call.arguments), case.schema, "arguments")
    except ValueError:
        return f"its arguments are not JSON: {call.arguments[:60]!r}"
    return found[0] if found else None
