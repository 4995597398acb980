"""Puts the plan's candidates into the store, and refuses to go on in a folder that began under other conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from shakedown.campaign.subject import Progress, Subject
from shakedown.domain.candidate import Candidate
from shakedown.domain.errors import UserError
from shakedown.domain.record import CandidateRecord
from shakedown.domain.words import Verdict
from shakedown.engines.base import Engine
from shakedown.plan.outcome import Plan
from shakedown.store.campaign_store import CampaignStore
from shakedown.store.reader import CampaignReader

PLAN = "plan"
"""Key of the fact that holds the plan's warnings, capacity and ceiling."""
INERT = "inert"
"""Rules whose id begins with this word say that a setting has nothing to act on."""


def enrol(
    subject: Subject,
    engine: Engine,
    store: CampaignStore,
    *,
    plan: Callable[[Subject, Progress], Plan],
    tell: Progress,
    one_machine: bool,
) -> Plan:
    """Plan the campaign and store its candidates; those already there keep what is known of them.

    Args:
        subject: what is tried.
        engine: its adapter.
        store: gets the candidates.
        plan: makes the plan, with the engine where it is.
        tell: told what takes time.
        one_machine: results come from one machine, which must be the same one as before; else any equal one will do.

    Raises:
        UserError: the engine or machine is not the one that the folder's results come from.
    """
    _same_conditions(subject, store, one_machine=one_machine)
    made = plan(subject, tell)
    store.put_fact(PLAN, made.model_dump(mode="json", exclude={"candidates", "pruned"}))
    known = {record.candidate.id for record in store.candidates()}
    inert = _inert_settings(made)
    for candidate in made.candidates:
        if candidate.id not in known:
            store.put_candidate(candidate_record(candidate, engine, store, inert=inert.get(candidate.id, ())))
    for pruned in made.pruned:
        if pruned.candidate.id not in known:
            record = candidate_record(pruned.candidate, engine, store)
            store.put_candidate(
                record.model_copy(
                    update={
                        "verdict": Verdict.PRUNED,
                        "reason": pruned.reason,
                        "rule": pruned.rule,
                        "rule_sources": pruned.sources,
                        "mended_by": pruned.completed,
                    }
                )
            )
    return made


def candidate_record(
    candidate: Candidate, engine: Engine, store: CampaignReader, *, inert: tuple[str, ...] = ()
) -> CandidateRecord:
    """A candidate that nothing is known of yet but what its arguments and the checkpoint say."""
    return CandidateRecord(
        candidate=candidate,
        lossy=(*engine.lossy_settings(candidate.args, candidate.env), *_asked_by_checkpoint(candidate, engine, store)),
        inert=inert,
        command=engine.command_line(candidate),
    )


def _asked_by_checkpoint(candidate: Candidate, engine: Engine, store: CampaignReader) -> tuple[str, ...]:
    """An automatic cache type is the checkpoint's wish, which may be a quantised one."""
    quantization = store.facts().get("model", {}).get("quantization")
    wish = quantization.get("kv_cache") if isinstance(quantization, dict) else None
    if not isinstance(wish, str) or engine.launch_shape(candidate.args).kv_dtype != "auto":
        return ()
    return (f"the KV cache is quantised: its type is left to the checkpoint, which asks for {wish}",)


def _inert_settings(plan: Plan) -> dict[str, tuple[str, ...]]:
    said: dict[str, tuple[str, ...]] = {}
    for warning in plan.warnings:
        if warning.rule.startswith(INERT):
            for candidate in warning.candidates:
                said[candidate] = (*said.get(candidate, ()), warning.reason)
    return said


def _same_conditions(subject: Subject, store: CampaignStore, *, one_machine: bool) -> None:
    before, now = store.facts(), subject.facts()
    for what, then, today in differences(before, now, one_machine=one_machine):
        raise UserError(
            f"{store.folder}: began with {what} {then!r}, which is now {today!r}; results under "
            "different conditions are never pooled. Choose another folder with --out, and compare the two."
        )
    for key, value in now.items():
        store.put_fact(key, value)


def differences(
    before: Mapping[str, Mapping[str, object]], now: Mapping[str, Mapping[str, object]], *, one_machine: bool
) -> Iterator[tuple[str, object, object]]:
    """Conditions that forbid to pool results made under ``before`` and ``now``: which, then, now."""
    of_machine = ("name", "gpus", "cpu") if one_machine else ("gpus", "cpu")
    for key, wanted in (("engine", ("version", "packages")), ("machine", of_machine)):
        for name in wanted:
            then, today = before.get(key, {}).get(name), now.get(key, {}).get(name)
            if key in before and _identity(then) != _identity(today):
                yield f"{key} {name}", then, today


def _identity(value: object) -> object:
    """Leave out of GPU facts what changes from minute to minute."""
    if isinstance(value, list):
        return [
            {name: item.get(name) for name in ("name", "memory_total_bytes")} if isinstance(item, dict) else item
            for item in value
        ]
    return value
