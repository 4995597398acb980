"""Characters of several bytes must arrive whole, streamed or not: a token may hold half of one."""

from __future__ import annotations

from shakedown.checks.base import Context, Outcome, Rung, failed, passed
from shakedown.checks.detectors import broken_inside
from shakedown.domain.words import GateLevel, Verdict

PROMPT = "Liste: 日本語 😀 déjà vu, 日本語 😀 déjà vu, 日本語 😀 déjà vu,"
"""A pattern that even a weak model goes on with, in characters of two, three and four bytes."""
TOKENS = 10


class _Utf8Whole:
    name = "utf8_whole"
    rung = Rung.SANITY
    level = GateLevel.QUICK
    fails_as = Verdict.GARBAGE

    def run(self, context: Context) -> Outcome:
        whole = context.server.generate(PROMPT, max_tokens=TOKENS, temperature=0.0)
        streamed = context.server.stream_text(PROMPT, max_tokens=TOKENS, temperature=0.0)
        evidence: dict[str, object] = {
            "whole": whole.text,
            "streamed": streamed.text,
            "replacement_characters": [broken_inside(whole.text), broken_inside(streamed.text)],
        }
        for name, answer in (("answer", whole), ("stream", streamed)):
            if not answer.whole_utf8:
                return failed(f"the {name} holds bytes that are no UTF-8", **evidence)
        # In the whole answer a replacement character can be the model's own doing; only the stream's own are a fault.
        if broken_inside(streamed.text) > broken_inside(whole.text):
            return failed(
                f"the stream cuts characters that the whole answer does not: {streamed.text[:40]!r}", **evidence
            )
        wide = sum(ord(character) > 127 for character in whole.text)
        return passed(f"{wide} characters beyond ASCII arrived whole", **evidence)


CHECK = _Utf8Whole()
