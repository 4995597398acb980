"""Hosts that stopped answering: their trials were run again elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.view import Judged

KIND = FindingKind.HOST_LOST


def find(judged: Judged) -> Iterator[Finding]:
    """One for each host that was given up."""
    for host, reason in judged.evidence.hosts_lost.items():
        yield Finding(
            kind=KIND,
            summary=f"The host {host} was given up: {reason}.",
            evidence={"host": host, "reason": reason},
            candidates=(),
            advice="Look at that machine; run the campaign again to use it again.",
        )
