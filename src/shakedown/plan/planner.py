"""Candidates in, plan out: what to run, what cannot work and why, what to know beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shakedown.domain.candidate import Candidate, EngineRef
from shakedown.domain.facts import EngineAnswer, EngineFacts, LaunchShape, MachineFacts, ModelFacts
from shakedown.domain.spec import CampaignSpec
from shakedown.plan.completion import completed
from shakedown.plan.conditions import FactTable
from shakedown.plan.duration import duration_of
from shakedown.plan.fact_table import Load, fact_table
from shakedown.plan.flags import flag_problem
from shakedown.plan.outcome import Plan, PlanWarning, PrunedCandidate
from shakedown.plan.prospects import Runnable, Seen, does_not_fit, prospects_of
from shakedown.plan.rulebook import Rule, RuleVerdict, rules_for
from shakedown.plan.space import EngineArguments, enumerate_candidates

ENGINE_REJECTS = "engine-rejects"


def make_plan(
    spec: CampaignSpec,
    engine: EngineArguments,
    model: ModelFacts | None,
    machine: MachineFacts | None,
    engine_facts: EngineFacts,
    *,
    builds: Sequence[EngineFacts] = (),
    answers: Mapping[str, EngineAnswer] | None = None,
) -> Plan:
    """Plan a campaign.

    Args:
        spec: the campaign file.
        engine: the adapter of the engine.
        model: facts about the checkpoint; None where it cannot be read from here (a name on a hub).
        machine: facts about the machine; None where it cannot be seen.
        engine_facts: the installation of ``[engine]``.
        builds: installations that options with an own ``python`` or ``command`` bring.
        answers: what the engine itself said, by candidate id; candidates it was not asked about are judged by rules.
    """
    installed = [engine_facts, *builds]
    space = enumerate_candidates(spec, engine, lambda reference: _installed(reference, installed).ref)
    wrappers = _wrappers(spec)
    work = _Work(engine, Load.of(spec.workloads()), answers or {})
    for candidate in space.candidates:
        hidden = candidate.engine.command in wrappers and spec.machine.file is None
        seen = Seen(model, None if hidden else machine, _installed(candidate.engine, installed))
        work.judge(candidate, seen)
    prospects = prospects_of(work.runnable.values(), spec.workloads())
    return Plan(
        candidates=tuple(runnable.candidate for runnable in work.runnable.values()),
        pruned=tuple(work.pruned),
        warnings=tuple(work.grouped_warnings()),
        notes=(*space.notes, *work.notes),
        capacity=tuple(prospects.capacity),
        ceiling=tuple(prospects.ceiling),
        at_least=duration_of(spec, prospects, len(work.runnable)),
        expected={name: answer.resolved for name, answer in work.answers.items() if name in work.runnable},
    )


def _installed(reference: EngineRef, installed: Sequence[EngineFacts]) -> EngineFacts:
    """Find the installation that a reference names; a reference that names none means the first."""
    for facts in installed:
        if (facts.python, facts.command) == (reference.python, reference.command):
            return facts
    return installed[0]


def _wrappers(spec: CampaignSpec) -> set[tuple[str, ...] | None]:
    """Commands that the file gives: what runs behind them may be another machine or a container."""
    options = [option.command for dimension in spec.vary for option in dimension.choices]
    return {command for command in (spec.engine.command, *options) if command is not None}


@dataclass(slots=True)
class _Work:
    """The plan while it is made."""

    engine: EngineArguments
    load: Load
    answers: Mapping[str, EngineAnswer]
    runnable: dict[str, Runnable] = field(default_factory=dict)
    pruned: list[PrunedCandidate] = field(default_factory=list)
    warnings: list[tuple[PlanWarning, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def judge(self, candidate: Candidate, seen: Seen) -> None:
        """Put one candidate where it belongs; a completed one is judged in its turn."""
        shape = self.engine.launch_shape(candidate.args)
        table = fact_table(candidate, shape, self.load, model=seen.model, machine=seen.machine, engine=seen.engine)
        held = _Held.of(rules_for(seen.engine.kind, seen.engine.version), seen.engine, table)
        if held.prunes:
            self.pruned.append(_pruned(candidate, held.prunes, table))
            return
        if held.completes:
            better = completed(candidate, held.completes)
            self.pruned.append(_pruned(candidate, held.completes, table, completed_id=better.id))
            self._adopt(better, seen)
            return
        runnable = Runnable(candidate, self._settled(candidate, shape), seen)
        refused = self._rejection(candidate, seen.engine) or does_not_fit(runnable, self.load)
        if refused is not None:
            self.pruned.append(refused)
        elif candidate.id not in self.runnable:
            self.runnable[candidate.id] = runnable
            self.warnings += [(warning, candidate.id) for warning in held.warnings(seen.engine, table)]

    def _settled(self, candidate: Candidate, shape: LaunchShape) -> LaunchShape:
        """The shape with the share of memory that the engine says it will take, where the candidate names none."""
        answer = self.answers.get(candidate.id)
        if shape.memory_fraction is not None or answer is None or not answer.accepted:
            return shape
        resolved = self.engine.launch_shape(
            {name: value for name, value in answer.resolved.items() if value is not None}
        )
        return shape.model_copy(update={"memory_fraction": resolved.memory_fraction})

    def _adopt(self, better: Candidate, seen: Seen) -> None:
        known = self.runnable.get(better.id)
        if known is not None:
            self.notes.append(f"{better.label} launches the same thing as {known.candidate.label} and is left out")
        elif better.id not in {pruned.candidate.id for pruned in self.pruned}:
            self.judge(better, seen)

    def _rejection(self, candidate: Candidate, engine: EngineFacts) -> PrunedCandidate | None:
        answer = self.answers.get(candidate.id)
        if answer is not None and not answer.accepted:
            message = answer.message or "the engine's own argument check rejects it"
            source = f"{engine.kind} {engine.version or ''}".strip() + " itself, asked in its own interpreter"
            return PrunedCandidate(candidate=candidate, rule=ENGINE_REJECTS, reason=message, sources=(source,))
        return flag_problem(candidate, engine)

    def grouped_warnings(self) -> list[PlanWarning]:
        """One warning for all candidates it concerns in the same words."""
        groups: dict[PlanWarning, list[str]] = {}
        for warning, candidate in self.warnings:
            groups.setdefault(warning, []).append(candidate)
        return [warning.model_copy(update={"candidates": tuple(ids)}) for warning, ids in groups.items()]


@dataclass(frozen=True, slots=True)
class _Held:
    """The rules that hold for a candidate, and those that cannot be decided."""

    prunes: list[Rule]
    completes: list[Rule]
    warns: list[Rule]
    undecided: list[Rule]

    @classmethod
    def of(cls, rules: Sequence[Rule], engine: EngineFacts, table: FactTable) -> _Held:
        truths = {rule.id: rule.judge(engine.kind, engine.version, table) for rule in rules}
        holding = [rule for rule in rules if truths[rule.id]]
        return cls(
            prunes=[rule for rule in holding if rule.verdict is RuleVerdict.PRUNE],
            completes=[rule for rule in holding if rule.verdict is RuleVerdict.COMPLETE],
            warns=[rule for rule in holding if rule.verdict is RuleVerdict.WARN],
            undecided=[
                rule
                for rule in rules
                if truths[rule.id] is None and rule.verdict is not RuleVerdict.WARN and not rule.quiet
            ],
        )

    def warnings(self, engine: EngineFacts, table: FactTable) -> list[PlanWarning]:
        """What to say of a candidate that will run."""
        said = [
            PlanWarning(rule=rule.id, title=rule.title, reason=rule.explain(table), sources=rule.sources)
            for rule in self.warns
        ]
        for rule in self.undecided:
            unknown = rule.unknowns(engine.version, table)
            reason = f"{rule.explain(table)} (not decided: {', '.join(unknown)} cannot be seen from here)"
            said.append(
                PlanWarning(
                    rule=rule.id, title=rule.title, reason=reason, sources=rule.sources, undecided=tuple(unknown)
                )
            )
        return said


def _pruned(
    candidate: Candidate, rules: Sequence[Rule], table: FactTable, completed_id: str | None = None
) -> PrunedCandidate:
    return PrunedCandidate(
        candidate=candidate,
        rule=rules[0].id,
        also=tuple(rule.id for rule in rules[1:]),
        reason="; ".join(rule.explain(table) for rule in rules),
        sources=tuple(dict.fromkeys(source for rule in rules for source in rule.sources)),
        completed=completed_id,
    )
