"""What a comparison says beside its figures: whom it compared, what it left out, what to keep in mind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shakedown.domain.comparison import Side
from shakedown.domain.result import CampaignResult
from shakedown.domain.words import Verdict
from shakedown.judge.pairing import Pair, model_name, unpaired


def side_of(result: CampaignResult) -> Side:
    """One of the two results in short."""
    info = result.campaign
    told = next((c.effective["engine_version"] for c in result.candidates if c.effective.get("engine_version")), None)
    version = result.engine.get("version") or told
    machine = ", ".join(str(result.machine[key]) for key in ("name", "cpu") if result.machine.get(key))
    return Side(
        name=info.name,
        folder=info.folder,
        measured_by=info.measured_by,
        started_at=info.started_at,
        engine=None if result.engine.get("kind") is None else str(result.engine["kind"]),
        engine_version=None if version is None else str(version),
        model=model_name(result),
        machine=machine or None,
    )


def notes(
    a: CampaignResult,
    b: CampaignResult,
    found: Sequence[Pair],
    *,
    changed: Mapping[str, str],
    only_repeats: bool,
) -> Iterator[str]:
    """Say it, a sentence each.

    Args:
        a: the result before.
        b: the result after.
        found: candidates that were compared.
        changed: workloads that were not, and in what they differ.
        only_repeats: something was compared whose intervals leave launches out.
    """
    yield from unpaired(a, b, found)
    skipped = [label for label, before, after in found if after.verdict is Verdict.NOT_RUN is not before.verdict]
    if skipped:
        yield f"Not run after: {', '.join(skipped)}."
    for name, differing in sorted(changed.items()):
        yield f"Workload {name} is not the same work on both sides and was not compared: {differing}."
    for side, result in (("before", a), ("after", b)):
        if not result.machine and result.campaign.measured_by is not None:
            yield f"The machine {side} is not recorded: {result.campaign.measured_by} does not look at it."
        if not result.campaign.complete:
            yield f"The campaign {side} is not complete."
    tools = {result.campaign.measured_by or "Shakedown" for result in (a, b)} - {"shakedown bench"}
    if len(tools - {"Shakedown"}) > 1 or (len(tools) > 1 and "Shakedown" in tools):
        yield f"Measured by different load generators ({', '.join(sorted(tools))}), whose formulas differ in places."
    if only_repeats:
        yield (
            "Launches were not repeated: intervals contain the repeats within a launch only, and launches of one "
            "configuration are known to differ by several per cent."
        )
    for side, result in (("before", a), ("after", b)):
        shaped = [candidate.label for candidate in result.candidates if any(p.client.limited for p in candidate.points)]
        if shaped:
            yield f"The load generator {side} shaped some points of {', '.join(shaped)}."
