"""Chats must reach the model in the reference's template: a wrong one still answers, only worse."""

from __future__ import annotations

from statistics import fmean

from shakedown.checks.base import Context, Outcome, Rung, failed, passed, skipped
from shakedown.checks.first_token import first_top
from shakedown.checks.reference import ChatStart
from shakedown.checks.samples import TOP
from shakedown.checks.server import RefusedError
from shakedown.domain.words import GateLevel, Verdict
from shakedown.stats.divergence import kl_from_top

CHATS: tuple[tuple[dict[str, object], ...], ...] = (
    (
        {"role": "system", "content": "You answer in one word."},
        {"role": "user", "content": "Two plus two?"},
        {"role": "assistant", "content": "Four."},
        {"role": "user", "content": "Three plus three?"},
    ),
)
"""Every role is there, since a template may be wrong for one of them."""
TOKENS_APART = 2
"""Prompt tokens by which one template may differ: some write the date."""
KL_LIMIT = 1.0
"""Nats. A quantised KV cache moves the first token of a chat by up to 0.3; another template moves it by several."""


class _ChatTemplate:
    name = "chat_template"
    rung = Rung.LIKENESS
    level = GateLevel.QUICK
    fails_as = Verdict.GARBAGE

    def run(self, context: Context) -> Outcome:
        wanted = context.reference.chats if context.reference is not None else ()
        if not wanted and context.draft is None:
            return skipped("no reference to compare with")
        try:
            chats = [_start(context, chat) for chat in CHATS]
        except RefusedError as error:
            if wanted:
                return failed("the reference serves chats, this server refuses them", error=str(error))
            return skipped("the server has no chat endpoint", error=str(error))
        context.record(chats=tuple(chats))
        counts = [chat.prompt_tokens for chat in chats]
        if not wanted:
            return passed("recorded", prompt_tokens=counts)
        return _compare(chats, wanted)


CHECK = _ChatTemplate()


def _start(context: Context, chat: tuple[dict[str, object], ...]) -> ChatStart:
    answer = context.server.chat(chat, max_tokens=1, temperature=0.0, logprobs=True, top_logprobs=TOP)
    return ChatStart(prompt_tokens=answer.prompt_tokens, top=first_top(answer))


def _compare(chats: list[ChatStart], wanted: tuple[ChatStart, ...]) -> Outcome:
    pairs = list(zip(chats, wanted, strict=True))
    kls = [kl for ours, theirs in pairs if (kl := kl_from_top(theirs.top, ours.top)) is not None]
    evidence: dict[str, object] = {
        "prompt_tokens": [chat.prompt_tokens for chat in chats],
        "reference_prompt_tokens": [chat.prompt_tokens for chat in wanted],
        "kl": kls,
        "kl_limit": KL_LIMIT,
    }
    for ours, theirs in pairs:
        if ours.prompt_tokens is None or theirs.prompt_tokens is None:
            continue
        if abs(ours.prompt_tokens - theirs.prompt_tokens) > TOKENS_APART:
            return failed(
                f"a chat becomes {ours.prompt_tokens} prompt tokens, the reference makes {theirs.prompt_tokens} of it",
                **evidence,
            )
    if kls and fmean(kls) > KL_LIMIT:
        return failed(f"chats begin differently than in the reference: mean KL {fmean(kls):.2f} nats", **evidence)
    return passed("chats reach the model as in the reference", **evidence)
