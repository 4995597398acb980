"""Hosts that are not equal to the others: nothing measured there counts."""

from __future__ import annotations

from collections.abc import Iterator

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge.view import Judged

KIND = FindingKind.HOST_SET_APART


def find(judged: Judged) -> Iterator[Finding]:
    """One for each host that was set apart."""
    for host, reason in judged.evidence.hosts_apart.items():
        yield Finding(
            kind=KIND,
            summary=f"The host {host} was set apart: {reason}. Nothing measured there counts.",
            evidence={"host": host, "reason": reason},
            candidates=(),
            advice="Make the hosts equal, or run a campaign of its own on this one and compare the two.",
        )
