"""A client that goes away in the middle must free its slot; a server that keeps it dies a little with each one."""

from __future__ import annotations

import time

from shakedown.checks.base import Context, Outcome, Rung, failed, passed, skipped
from shakedown.checks.corpus import OPENINGS
from shakedown.checks.parallel import in_parallel
from shakedown.domain.errors import ClientError
from shakedown.domain.words import GateLevel, Verdict

STREAMS_UNKNOWN = 12
"""Streams to cancel where the server does not say how many requests it runs at once."""
STREAMS_MOST = 64
PATIENCE_S = 30.0
"""Within this a server that is not stuck answers one token; the target's own time limit counts where it is shorter."""
ATTEMPTS = 2
"""A machine that was frozen for minutes thaws and answers the second time; a server without slots never does."""


class _CancelledStreams:
    name = "cancelled_streams"
    rung = Rung.CONCURRENCY
    level = GateLevel.QUICK
    fails_as = Verdict.GARBAGE

    def run(self, context: Context) -> Outcome:
        patience_s = min(PATIENCE_S, context.server.target.request_timeout_s)
        slots = context.effective.get("max_running_requests")
        count = min(slots + 1 if isinstance(slots, int) else STREAMS_UNKNOWN, STREAMS_MOST)
        before = _running(context)

        def cancel(order: int) -> bool:
            prompt = f"{order + 1}. {OPENINGS[order % len(OPENINGS)]}"
            try:
                return context.server.stream_text(
                    prompt, stop_after=2, timeout_s=patience_s, max_tokens=256, temperature=1.0, seed=order
                ).cancelled
            except ClientError:
                return False  # counted; whether slots are lost shows in the request afterwards

        dropped = sum(in_parallel(cancel, range(count), at_once=min(count, 8)))
        evidence: dict[str, object] = {"streams": count, "cancelled": dropped, "slots": slots, "running_before": before}
        begun = time.monotonic()
        error = _unanswered(context, patience_s)
        if error is not None:
            told = f"after {dropped} of {count} streams were cancelled in the middle, no request is answered any more"
            return failed(told, error=str(error), waited_s=time.monotonic() - begun, **evidence)
        answered_s = time.monotonic() - begun
        running = _settled(context, before, patience_s)
        evidence |= {"answered_s": answered_s, "running_after": running}
        if running is not None and before is not None and running > before:
            return failed(
                f"{running - before:g} of {dropped} cancelled requests still run after {patience_s:g} s", **evidence
            )
        if not dropped:
            return skipped("no stream could be begun, so none could be cancelled", **evidence)
        return passed(f"{dropped} streams cancelled, the next request answered in {answered_s:.2f} s", **evidence)


CHECK = _CancelledStreams()


def _unanswered(context: Context, patience_s: float) -> ClientError | None:
    """Ask for one token, again if need be; return the last error if none comes."""
    error: ClientError | None = None
    for _ in range(ATTEMPTS):
        try:
            context.server.generate_within(patience_s, "After the interruption", max_tokens=1, temperature=0.0)
        except ClientError as refused:
            error = refused
        else:
            return None
    return error


def _running(context: Context) -> float | None:
    """Requests the server says it runs now; None where it does not say."""
    if context.engine is None or context.engine.metrics_path is None:
        return None
    try:
        return context.engine.counters(context.server.text(context.engine.metrics_path)).running_max
    except ClientError:
        return None


def _settled(context: Context, before: float | None, patience_s: float) -> float | None:
    """Wait until no more requests run than before; return the last reading."""
    deadline = time.monotonic() + patience_s
    running = _running(context)
    while running is not None and before is not None and running > before and time.monotonic() < deadline:
        time.sleep(0.1)
        running = _running(context)
    return running
