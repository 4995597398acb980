"""Diagnoses and signatures as text for people: the terminal, ``--explain``, and the documentation's page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from shakedown.diagnose.signature import RemedyRule, Signature, Tier
from shakedown.domain.failure import Diagnosis, Remedy, RootCause, Symptom
from shakedown.domain.words import EngineKind

_TIER_WORDS = {
    Tier.ROOT: "root cause",
    Tier.SYMPTOM: "symptom: the root only where nothing else explains the failure",
    Tier.WRAPPER: "wrapper: says that something failed elsewhere",
    Tier.WARNING: "warning of a server that runs",
    Tier.BENIGN: "harmless",
}
_BRACKETS = re.compile(r"\[([^\[\]{}]*\{[a-z_0-9]+\}[^\[\]]*)\]")
_MOST_SYMPTOMS = 6
_LAST_LINES = 3


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """Return a diagnosis as people read it: root line and what stands round it, cause, remedy, sources, symptoms."""
    return "\n".join(_diagnosis_lines(diagnosis)) + "\n"


def _diagnosis_lines(diagnosis: Diagnosis) -> Iterator[str]:
    where = f"{diagnosis.engine or 'unknown engine'}" + (f", {diagnosis.stage}" if diagnosis.stage else "")
    if diagnosis.root is not None:
        yield from _root_lines(diagnosis.root, where)
    elif diagnosis.failed:
        yield f"Unclassified failure ({where}): no line says why."
        yield from _quoted("The log ends with:", diagnosis.tail)
    elif diagnosis.ready or not diagnosis.tail:
        yield f"No failure in this log ({where})."
    else:
        yield f"No failure in this log ({where}), and no line says that the server became ready."
        yield "It is still starting, hangs, or was stopped from outside."
        yield from _quoted("The log ends with:", diagnosis.tail[-_LAST_LINES:])
    for other in diagnosis.other_roots:
        yield f"\nIndependent of it, line {other.line_number}: {other.title}"
        yield f"  {other.line}"
    if diagnosis.symptoms:
        yield "\nWhat follows from it:" if diagnosis.root else "\nLines that say only that something failed:"
        yield from _symptom_lines(diagnosis.symptoms)
    for warning in diagnosis.warnings:
        yield f"\nWarning, line {warning.line_number}: {warning.title}. {warning.advice}".rstrip()


def _symptom_lines(symptoms: Sequence[Symptom]) -> Iterator[str]:
    """Each kind of symptom once, at its first line, with the lines where it is said again."""
    kinds: dict[str, list[Symptom]] = {}
    for symptom in symptoms:
        kinds.setdefault(symptom.title, []).append(symptom)
    for title, told in list(kinds.items())[:_MOST_SYMPTOMS]:
        again = ", ".join(str(symptom.line_number) for symptom in told[1:])
        yield f"  {told[0].line_number}: {title}: {told[0].line[:160]}" + (f" (again: {again})" if again else "")
    if len(kinds) > _MOST_SYMPTOMS:
        yield f"  … and {len(kinds) - _MOST_SYMPTOMS} more"


def _root_lines(root: RootCause, where: str) -> Iterator[str]:
    kind = root.category.value if root.category else "no category"
    yield f"{root.title}  [{kind}; {where}]"
    if root.line_number is None:
        yield "This is only suggested by how the process ended; no line says it."
    else:
        yield f"\nline {root.line_number}:"
        for line in root.context or (root.line or "",):
            mark = ">" if line.strip() == (root.line or "").strip() else " "
            yield f"  {mark} {line[:240]}"
    yield f"\nCause: {root.cause}"
    if root.remedy is not None:
        yield f"Remedy: {root.remedy.advice}"
        yield from (f"  {change}" for change in remedy_changes(root.remedy))
    if root.signature:
        yield f"Signature: {root.signature} (shakedown diagnose --explain {root.signature})"
    for source in root.sources:
        yield f"Source: {source}"


def remedy_changes(remedy: Remedy) -> list[str]:
    """Return what a machine would change, a phrase each."""
    changes = [f"set --{name} {value}" for name, value in remedy.set_args.items()]
    changes += [f"remove --{name.lstrip('-')}" for name in remedy.remove_args]
    changes += [f"remove --{name} where it is {' or '.join(values)}" for name, values in remedy.avoid_args.items()]
    for name, change in remedy.adjust_args.items():
        changes.append(f"--{name}: " + (f"times {change.times:g}" if change.times != 1 else f"{change.add:+g}"))
    changes += [f"set {name}={value}" for name, value in remedy.set_env.items()]
    changes += [f"unset {name}" for name in remedy.remove_env]
    return changes + (["launch again unchanged"] if remedy.retry_unchanged else [])


def signature_page(signature: Signature) -> str:
    """Return one signature as a page."""
    return "\n".join(_signature_lines(signature, heading="#")) + "\n"


def catalogue_page(signatures: Iterable[Signature]) -> str:
    """Return the documentation's page of all signatures: generated, never edited."""
    members = list(signatures)
    lines = [
        "# Signatures",
        "",
        "Generated from `src/shakedown/diagnose/signatures/` by `python -m shakedown.diagnose`; do not edit.",
        f"{len(members)} signatures. How to add one: [how-to](how-to-add-a-signature.md).",
    ]
    for engine in (*EngineKind, None):
        lines += ["", f"## {engine.value if engine else 'Any engine, and what lies beneath'}"]
        for signature in members:
            if signature.engine is engine:
                lines += ["", *_signature_lines(signature, heading="###")]
    return "\n".join(lines) + "\n"


def _signature_lines(signature: Signature, *, heading: str) -> Iterator[str]:
    yield f"{heading} {signature.id}"
    yield ""
    yield f"**{_plain(signature.title)}**"
    yield ""
    category = signature.category.value if signature.category else "none"
    engine = signature.engine.value if signature.engine else "any engine"
    yield f"- category: {category}; {_TIER_WORDS[signature.tier]}; {engine}"
    if signature.versions:
        yield f"- versions: {signature.versions}"
    if signature.cause:
        yield f"- cause: {_plain(signature.cause)}"
    if signature.advice:
        yield f"- remedy: {_plain(signature.advice)}"
    for rule in signature.remedies:
        yield f"- applied by a campaign{_scope(rule)}: {'; '.join(_rule_changes(rule))}"
    if signature.retryable:
        yield "- the same launch may succeed when tried again"
    if signature.confused_with:
        yield f"- often confused with: {', '.join(signature.confused_with)}"
    for pattern in signature.patterns:
        yield f"- matches: `{pattern}`"
    if signature.requires:
        yield f"- only where another line matches: `{signature.requires}`"
    for example in signature.positive[:1]:
        yield f"- example: `{example.strip()}`"
    for source in signature.sources:
        yield f"- source: {source}"


def _scope(rule: RemedyRule) -> str:
    parts = ([f"on {rule.engine.value}"] if rule.engine else []) + ([rule.versions] if rule.versions else [])
    return f" ({', '.join(parts)})" if parts else ""


def _rule_changes(rule: RemedyRule) -> list[str]:
    return remedy_changes(
        Remedy(
            advice="",
            set_args=rule.set,
            remove_args=rule.remove,
            set_env=rule.env,
            remove_env=rule.unset_env,
            avoid_args=rule.avoid,
            adjust_args=rule.adjust,
        )
    )


def _plain(text: str) -> str:
    """Return a text of a signature with its optional parts shown."""
    return _BRACKETS.sub(r"\1", text)


def _quoted(title: str, lines: Iterable[str]) -> list[str]:
    return [title, *(f"    {line[:240]}" for line in lines)]
