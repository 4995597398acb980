"""Many requests of different lengths at once must be answered as each would be alone.

Known faults live only here: a kernel that gives NaN for a few rows of a mixed batch (sgl-project/sglang pull request
20047), a crash with exactly two requests. Replaying one prompt afterwards shows nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from shakedown.checks.answer import Answer
from shakedown.checks.base import Context, Outcome, Rung, failed, passed
from shakedown.checks.corpus import logbook
from shakedown.checks.first_token import ROW_LIMIT, fault_of, first_token_kl
from shakedown.checks.parallel import in_parallel
from shakedown.checks.samples import ask
from shakedown.checks.server import Server
from shakedown.domain.words import GateLevel, Verdict


@dataclass(frozen=True, slots=True)
class _Size:
    """Requests at once, characters of the longest prompt, tokens of each answer, rounds, prompts asked again alone."""

    requests: int
    longest: int
    tokens: int
    rounds: int
    alone: int


SIZES = {
    GateLevel.QUICK: _Size(6, 100, 2, 1, 2),
    GateLevel.STANDARD: _Size(64, 160, 9, 2, 12),
    GateLevel.THOROUGH: _Size(64, 4000, 12, 6, 64),
}


SHORTEST = 12
"""Characters of the shortest prompt."""


class _MixedBatch:
    name = "mixed_batch"
    rung = Rung.CONCURRENCY
    level = GateLevel.QUICK
    fails_as = Verdict.GARBAGE

    def run(self, context: Context) -> Outcome:
        size, server = SIZES[context.gates.level], context.server
        prompts = _prompts(size)
        in_parallel(lambda prompt: _ask(server, prompt, 2), prompts[:2], at_once=2)  # exactly two, a known crash
        batched: list[list[Answer]] = []
        for number in range(size.rounds):
            order = prompts if number % 2 == 0 else prompts[::-1]
            answers = in_parallel(lambda prompt: _ask(server, prompt, size.tokens), order, at_once=size.requests)
            batched.append(answers if number % 2 == 0 else answers[::-1])
        evidence: dict[str, object] = {"requests_at_once": size.requests, "rounds": size.rounds}
        broken = [
            f"round {number + 1}, prompt of {len(prompts[row])} characters: {fault}"
            for number, answers in enumerate(batched)
            for row, answer in enumerate(answers)
            if (fault := fault_of(answer)) is not None
        ]
        if broken:
            rows = size.rounds * size.requests
            return failed(f"{len(broken)} of {rows} answers in a mixed batch are broken", rows=broken[:5], **evidence)
        moved, checked = _moved(server, prompts, batched, size)
        evidence |= {"asked_again_alone": size.alone, "compared": checked, "limit": ROW_LIMIT}
        if moved:
            return failed(
                f"{len(moved)} of {checked} prompts are answered differently in a mixed batch than alone",
                rows=moved[:5],
                **evidence,
            )
        return passed(f"{size.rounds} x {size.requests} different lengths at once, none broken", **evidence)


CHECK = _MixedBatch()


def _prompts(size: _Size) -> list[str]:
    """Cut one text per request: many short and a few long, no two of one length, none a prefix of another."""
    steps = max(size.requests - 1, 1)
    lengths = [round(SHORTEST * (size.longest / SHORTEST) ** (row / steps)) + row for row in range(size.requests)]
    return [
        f"Log {row + 1}. " + logbook(size.longest // 60 + 1, 1000 + row)[:length] for row, length in enumerate(lengths)
    ]


def _ask(server: Server, prompt: str, tokens: int) -> Answer:
    return ask(server, prompt, max_tokens=tokens, temperature=1.0, seed=len(prompt))


def _moved(server: Server, prompts: list[str], batched: list[list[Answer]], size: _Size) -> tuple[list[str], int]:
    """Ask some prompts again alone; say which rows of any round lie too far from that."""
    moved, checked = [], 0
    for row in range(0, size.requests, max(size.requests // size.alone, 1)):
        alone = _ask(server, prompts[row], 1)
        for number, answers in enumerate(batched):
            kl = first_token_kl(alone, answers[row])
            checked += kl is not None
            if kl is not None and kl > ROW_LIMIT:
                moved.append(f"round {number + 1}, prompt of {len(prompts[row])} characters: {kl:.2f} nats")
    return moved, checked
