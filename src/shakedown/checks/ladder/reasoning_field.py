"""Reasoning belongs into its own field and the answer outside it, where the server separates the two at all."""

from __future__ import annotations

from shakedown.checks.answer import Answer
from shakedown.checks.base import Context, Outcome, Rung, failed, needs, passed, skipped
from shakedown.domain.words import GateLevel, Verdict

MESSAGES = [{"role": "user", "content": "What is 7 + 5? Answer with the number."}]
TAGS = ("<think>", "</think>")
TOKENS = 256
FIRST_TOKENS = 8
"""Enough to see that a model reasons at all."""


class _ReasoningField:
    name = "reasoning_field"
    rung = Rung.INTERFACES
    level = GateLevel.STANDARD
    fails_as = Verdict.GARBAGE

    def run(self, context: Context) -> Outcome:
        fields = {"messages": MESSAGES, "max_tokens": TOKENS, "temperature": 0.0}
        with needs("the server has no chat endpoint"):
            begins = context.server.post("/v1/chat/completions", fields | {"max_tokens": FIRST_TOKENS})
            if not begins.reasoning:
                return skipped("the model does not reason in a field of its own", whole=_quoted(begins))
            whole = context.server.post("/v1/chat/completions", fields)
            streamed = context.server.stream("/v1/chat/completions", fields)
        wrong = _wrong(whole, "whole") or _wrong(streamed, "streamed")
        if wrong is None and bool(whole.reasoning) != bool(streamed.reasoning):
            wrong = "the reasoning field is filled in only one of whole and streamed answer"
        if wrong is not None:
            return failed(wrong, whole=_quoted(whole), streamed=_quoted(streamed))
        return passed("reasoning comes in its own field, the answer outside it", characters=len(whole.reasoning))


CHECK = _ReasoningField()


def _wrong(answer: Answer, how: str) -> str | None:
    if not answer.reasoning:
        return None  # tags in the text without a field: no reasoning parser is switched on, which is a choice
    if any(tag in answer.text for tag in TAGS):
        return f"the {how} answer has a reasoning field and thinking tags in its text"
    if not answer.text.strip() and answer.finish_reason == "stop":
        return f"all of the {how} answer is in the reasoning field"
    return None


def _quoted(answer: Answer) -> dict[str, str]:
    return {"reasoning": answer.reasoning[:120], "text": answer.text[:120]}
