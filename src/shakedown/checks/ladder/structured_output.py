"""An answer under a JSON schema must obey it."""

from __future__ import annotations

import json

from shakedown.checks.base import Context, Outcome, Rung, failed, needs, passed, skipped
from shakedown.checks.schema import faults
from shakedown.domain.words import GateLevel, Verdict

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "colour": {"type": "string", "enum": ["red", "green", "blue"]},
        "fresh": {"type": "boolean"},
        "sizes": {
            "type": "array",
            "items": {"type": "string", "enum": ["small", "large"]},
            "minItems": 1,
            "maxItems": 2,
        },
    },
    "required": ["colour", "fresh", "sizes"],
    "additionalProperties": False,
}
"""No free text and no free number: a weak model cannot ramble inside it until the limit cuts the answer."""
MESSAGES = [{"role": "user", "content": "Describe an apple as JSON with the keys colour, fresh and sizes."}]
TOKENS = 96


class _StructuredOutput:
    name = "structured_output"
    rung = Rung.INTERFACES
    level = GateLevel.STANDARD
    fails_as = Verdict.GARBAGE

    def run(self, context: Context) -> Outcome:
        form = {"type": "json_schema", "json_schema": {"name": "fruit", "schema": SCHEMA, "strict": True}}
        fields = {"messages": MESSAGES, "max_tokens": TOKENS, "temperature": 0.0, "response_format": form}
        with needs("the server takes no response format"):
            answers = {
                "whole": context.server.post("/v1/chat/completions", fields),
                "streamed": context.server.stream("/v1/chat/completions", fields),
            }
        for how, answer in answers.items():
            if answer.finish_reason == "length" and answer.text.lstrip().startswith("{"):
                return skipped(f"the {how} answer was cut at {TOKENS} tokens", text=answer.text[:200])
            try:
                wrong = faults(json.loads(answer.text), SCHEMA)
            except ValueError:
                wrong = ["it is not JSON"]
            if wrong:
                return failed(
                    f"the {how} answer does not obey its schema: {wrong[0]}", text=answer.text[:200], faults=wrong
                )
        return passed("answers obey their schema, whole and streamed", text=answers["whole"].text[:200])


CHECK = _StructuredOutput()
