"""The same greedy answer streamed and whole must be the same text: a dropped or doubled piece shows nowhere else."""

from __future__ import annotations

from shakedown.checks.base import Context, Outcome, Rung, failed, passed, skipped
from shakedown.domain.words import GateLevel, Verdict

PROMPT = "One, two, three, four, five, six,"
TOKENS = 8
REPEATS = 3


class _StreamEqualsWhole:
    name = "stream_equals_whole"
    rung = Rung.INTERFACES
    level = GateLevel.QUICK
    fails_as = Verdict.GARBAGE

    def run(self, context: Context) -> Outcome:
        whole, streamed = [_whole(context)], [_streamed(context)]
        if whole == streamed:
            return passed("streamed and whole text are the same", text=whole[0])
        # Greedy text may change with the cache or the batch around it; only a difference that stays is the stream's.
        whole += [_whole(context) for _ in range(REPEATS - 1)]
        streamed += [_streamed(context) for _ in range(REPEATS - 1)]
        evidence: dict[str, object] = {"whole": whole, "streamed": streamed}
        if set(whole) & set(streamed):
            return skipped("greedy text changes from request to request, so a difference says nothing", **evidence)
        return failed(f"streamed text is not the whole text: {streamed[0][:40]!r}, whole {whole[0][:40]!r}", **evidence)


CHECK = _StreamEqualsWhole()


def _whole(context: Context) -> str:
    return context.server.generate(PROMPT, max_tokens=TOKENS, temperature=0.0).text


def _streamed(context: Context) -> str:
    return context.server.stream_text(PROMPT, max_tokens=TOKENS, temperature=0.0).text
