"""What failures teach: which candidates would fail in the same way, so that they need not be launched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shakedown.diagnose.catalogue import signature_by_id
from shakedown.diagnose.remedies import canonical
from shakedown.domain.base import ArgValue
from shakedown.domain.candidate import Candidate


@dataclass(frozen=True, slots=True)
class FailedLaunch:
    """A candidate that failed, after its remedies were tried, and the signature of the root."""

    candidate: Candidate
    signature: str


def foreseen(
    candidate: Candidate, failures: Iterable[FailedLaunch], *, aliases: Mapping[str, str] | None = None
) -> FailedLaunch | None:
    """Return the earlier failure that this candidate would repeat, or None.

    A signature says on which arguments its failure depends (``involves``). A candidate of the same engine and model
    that gives the very same values to all of them fails again, whatever else differs. A signature that says nothing
    teaches nothing; a retryable one may pass next time.
    """
    for failure in failures:
        signature = signature_by_id(failure.signature)
        if signature is None or signature.retryable or not signature.involves:
            continue
        if (candidate.engine, candidate.model) != (failure.candidate.engine, failure.candidate.model):
            continue
        names = {canonical(name, aliases or {}) for name in signature.involves}
        given = _given(failure.candidate, names, aliases or {})
        if given and given == _given(candidate, names, aliases or {}):
            return failure
    return None


def _given(candidate: Candidate, names: set[str], aliases: Mapping[str, str]) -> dict[str, ArgValue]:
    canonical_args = {canonical(name, aliases): value for name, value in candidate.args.items() if value is not False}
    return {name: value for name, value in canonical_args.items() if name in names}
