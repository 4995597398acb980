"""Which candidate of one result answers to which of another, and whether the two may be compared at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shakedown.domain.errors import UserError
from shakedown.domain.result import CampaignResult, CandidateResult

Pair = tuple[str, CandidateResult, CandidateResult]
"""Label, before, after."""

_MODEL_FACTS = ("architecture", "parameters", "weight_bytes", "layers")
_SHAPE = ("prompts", "input_tokens", "output_tokens", "arrival", "burstiness", "ramp_to", "ignore_eos")
"""What makes a workload the same work; requests and repeats only say how often it is measured."""
_TOKENS_DIFFER = 0.1
"""Mean tokens of a request that differ by more are another workload; prompts of one length differ by chance."""


def pairs(a: CampaignResult, b: CampaignResult, only: str | None) -> list[Pair]:
    """Pair candidates by label; a lone candidate of a load generator answers to the other side's winner.

    An engine's version is part of a candidate's id, so ids do not survive an upgrade; labels, which name the choices,
    do.

    Args:
        a: the result before.
        b: the result after.
        only: label or id of the one candidate to compare; None: all.

    Raises:
        UserError: ``only`` names none, or the campaign has no winner to compare with.
    """
    first, second = _candidates(a, only), _candidates(b, only)
    if a.campaign.measured_by is None and b.campaign.measured_by is None:
        return [(label, one, second[label]) for label, one in first.items() if label in second]
    if len(first) > 1 and len(second) > 1:
        return [(label, one, second[label]) for label, one in first.items() if label in second]
    before, after = _alone(a, first), _alone(b, second)
    named = before if a.campaign.measured_by is None else after
    return [(named.label or named.id, before, after)]


def unpaired(a: CampaignResult, b: CampaignResult, found: Sequence[Pair]) -> Iterator[str]:
    """What only one side has, in sentences; nothing where lone candidates were paired."""
    if a.campaign.measured_by is not None or b.campaign.measured_by is not None:
        return
    labels = {label for label, _, _ in found}
    for side, result in (("before", a), ("after", b)):
        alone = [label for label in _candidates(result, None) if label not in labels]
        if alone:
            yield f"Only {side}: {', '.join(alone)}."


def _candidates(result: CampaignResult, only: str | None) -> dict[str, CandidateResult]:
    found: dict[str, CandidateResult] = {}
    for candidate in result.candidates:
        label = candidate.label or candidate.id
        found[label if label not in found else f"{label} ({candidate.id})"] = candidate
    if only is None or result.campaign.measured_by is not None:
        return found
    chosen = {label: one for label, one in found.items() if only in {label, one.id}}
    if not chosen:
        raise UserError(
            f"--candidate {only!r}: {result.campaign.folder} has none of this label or id; it has {', '.join(found)}"
        )
    return chosen


def _alone(result: CampaignResult, candidates: Mapping[str, CandidateResult]) -> CandidateResult:
    if len(candidates) == 1:
        return next(iter(candidates.values()))
    if result.winner is None:
        raise UserError(
            f"{result.campaign.folder}: no candidate qualified, so there is none to compare with; name one: --candidate"
        )
    winner = result.winner.id
    return next(one for one in candidates.values() if one.id == winner)


def machine_differences(a: CampaignResult, b: CampaignResult) -> list[str]:
    """In what the machines differ, as far as both were seen; memory and host name may."""
    seen = [_machine(result.machine) for result in (a, b)]
    return _differences(*seen)


def _machine(machine: Mapping[str, object]) -> dict[str, object]:
    facts = {key: machine.get(key) for key in ("cpu", "cores")}
    gpus = machine.get("gpus")
    facts["GPUs"] = (
        sorted(str(gpu.get("name")) for gpu in gpus if isinstance(gpu, Mapping)) if isinstance(gpus, list) else None
    )
    return facts


def model_differences(a: CampaignResult, b: CampaignResult) -> list[str]:
    """In what the models differ: by their tensors where both were read, else by the names they are served under."""
    facts = [{key: result.model.get(key) for key in _MODEL_FACTS} for result in (a, b)]
    if all(any(value is not None for value in side.values()) for side in facts):
        return _differences(*facts)
    return _differences(*({"name": model_name(result)} for result in (a, b)))


def model_name(result: CampaignResult) -> str | None:
    """The name that the model is served under, or the one of its file."""
    served = (candidate.effective.get("model_name") for candidate in result.candidates)
    named = result.model.get("name") or next((name for name in served if name is not None), None)
    if named is None and result.model.get("path"):
        named = str(result.model["path"]).rstrip("/").rsplit("/", 1)[-1]
    return None if named is None else str(named)


def _differences(a: Mapping[str, object], b: Mapping[str, object]) -> list[str]:
    return [
        f"{key} {a[key]} before, {b[key]} after"
        for key in a
        if a[key] is not None and b[key] is not None and a[key] != b[key]
    ]


def changed_workloads(a: CampaignResult, b: CampaignResult, found: Sequence[Pair]) -> dict[str, str]:
    """Workloads of one name that are not the same work, and in what they differ; they are not compared."""
    changed = {}
    first, second = (_declared(result) for result in (a, b))
    for name in first.keys() & second.keys():
        differing = _differences(*({key: side[name].get(key) for key in _SHAPE} for side in (first, second)))
        if differing:
            changed[name] = "; ".join(differing)
    for _, before, after in found:
        for name in {point.workload for point in before.points} - (first.keys() & second.keys()):
            differing = list(_token_differences(before, after, name))
            if differing:
                changed[name] = "; ".join(differing)
    return changed


def _declared(result: CampaignResult) -> dict[str, Mapping[str, object]]:
    return {str(workload["name"]): workload for workload in result.campaign.workloads if "name" in workload}


def _token_differences(before: CandidateResult, after: CandidateResult, workload: str) -> Iterator[str]:
    first, second = _mean_tokens(before, workload), _mean_tokens(after, workload)
    for name, a, b in zip(("input", "output"), first, second, strict=True):
        if a is not None and b is not None and abs(a - b) > _TOKENS_DIFFER * max(a, b, 10.0):
            yield f"mean {name} tokens {a:.4g} before, {b:.4g} after"


def _mean_tokens(candidate: CandidateResult, workload: str) -> tuple[float | None, float | None]:
    """Tokens of a request, in and out; None where they were not counted."""
    points = [point for point in candidate.points if point.workload == workload and point.ok]
    answered = sum(point.ok for point in points)
    known = [point.input_tokens for point in points if point.input_tokens is not None]
    return (
        sum(known) / answered if points and len(known) == len(points) else None,
        sum(point.output_tokens for point in points) / answered if points else None,
    )
