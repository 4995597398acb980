"""Request records whose summary is known by hand."""

from __future__ import annotations

from array import array

from shakedown.domain.metric import ClientProof
from shakedown.domain.request import RequestRecord

MS = 1_000_000
CLIENT = ClientProof(cpu_s=0.0, send_lateness_s=None, loop_lag_s=None, limited=False)


def record(
    index: int = 0,
    *,
    sent_ms: float = 0,
    arrivals_ms: tuple[float, ...] = (100, 110, 120),
    tokens: int | None = None,
    event_tokens: tuple[int, ...] = (),
    **fields: object,
) -> RequestRecord:
    return RequestRecord(
        index=index,
        scheduled_ns=round(sent_ms * MS),
        sent_ns=round(sent_ms * MS) or 1,
        arrivals_ns=array("q", [round(at * MS) for at in arrivals_ms]),
        event_tokens=array("i", event_tokens),
        output_tokens=len(arrivals_ms) if tokens is None else tokens,
        end_ns=round(max(arrivals_ms, default=sent_ms + 1) * MS),
        **fields,  # type: ignore[arg-type]
    )
