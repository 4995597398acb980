"""Applies a remedy to a candidate: pure, bounded, and never at the price of what is being compared."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from shakedown.diagnose.catalogue import signature_by_id
from shakedown.diagnose.render import remedy_of
from shakedown.domain.base import ArgValue
from shakedown.domain.candidate import Candidate, argument_name
from shakedown.domain.failure import Adjustment, Failure, Remedy, RootCause

MOST_REMEDIES = 3
"""Remedies applied one after another to one candidate."""

RefusalKind = Literal["no_remedy", "exhausted", "repeated", "changes_comparison", "no_change"]


@dataclass(frozen=True, slots=True)
class Derived:
    """The mended candidate. ``retry`` says that it is the same launch again (a port that was taken)."""

    candidate: Candidate
    signature: str
    changes: tuple[str, ...]
    """What was changed, a phrase each: ``"set flash-attn = 'on'"``."""
    retry: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """Why no remedy was applied."""

    kind: RefusalKind
    reason: str
    mended: Candidate | None = None
    """For ``changes_comparison``: what the remedy would have made. If the campaign has that candidate, the failed one
    names it as ``mended_by``."""


def derive(
    candidate: Candidate,
    root: RootCause | Failure | None,
    *,
    varied: Mapping[str, Collection[str]],
    history: Sequence[str] = (),
    engine_version: str | None = None,
    aliases: Mapping[str, str] | None = None,
) -> Derived | Refused:
    """Apply the remedy of a failure to the candidate that failed.

    Args:
        candidate: what was launched.
        root: its diagnosed root cause or recorded failure.
        varied: each dimension's name to the arguments and environment variables that its options set.
        history: ids of the signatures whose remedies already led to this candidate, oldest first.
        engine_version: chooses between remedies where argument names changed; None: as the diagnosis chose.
        aliases: other spellings of arguments to canonical ones, as the engine's adapter has them.
    """
    if root is None or root.signature is None:
        return Refused("no_remedy", "no signature knows this failure, so nothing is known to change")
    remedy = _remedy_for(candidate, root, engine_version)
    if remedy is None or not remedy.actionable:
        advice = remedy.advice if remedy and remedy.advice else "it has no remedy that a machine can apply"
        return Refused("no_remedy", f"{root.signature}: {advice}")
    spent = _spent(root.signature, history)
    if spent is not None:
        return spent
    change = _Change(candidate, aliases or {})
    change.apply(remedy)
    if change.phrases:
        return _mended(change, root.signature, varied, aliases or {})
    if remedy.retry_unchanged:
        again = candidate.model_copy(update={"derived_from": candidate.id, "remedy": root.signature})
        return Derived(again, root.signature, ("launch again unchanged",), retry=True)
    return Refused("no_change", f"the remedy of {root.signature} asks for what is set already")


def _spent(signature: str, history: Sequence[str]) -> Refused | None:
    if signature in history:
        return Refused("repeated", f"the remedy of {signature} was applied already and did not help")
    if len(history) >= MOST_REMEDIES:
        return Refused("exhausted", f"{MOST_REMEDIES} remedies were applied already: {', '.join(history)}")
    return None


def _mended(
    change: _Change, signature: str, varied: Mapping[str, Collection[str]], aliases: Mapping[str, str]
) -> Derived | Refused:
    mended = change.candidate(signature)
    touched = _touched_dimensions(change.names, varied, aliases)
    if touched:
        reason = f"{'; '.join(change.phrases)}: that would change {', '.join(touched)}, which is being compared"
        return Refused("changes_comparison", reason, mended)
    return Derived(mended, signature, tuple(change.phrases))


def _remedy_for(candidate: Candidate, root: RootCause | Failure, engine_version: str | None) -> Remedy | None:
    """Render the remedy for the candidate's engine and version where the captures are at hand."""
    signature = signature_by_id(root.signature) if root.signature else None
    version = engine_version or candidate.engine.versions.get(candidate.engine.kind)
    if signature is None or not isinstance(root, RootCause) or version is None:
        return root.remedy
    return remedy_of(signature, root.captures, engine=candidate.engine.kind, engine_version=version)


class _Change:
    """Collects what a remedy changes in one candidate."""

    def __init__(self, candidate: Candidate, aliases: Mapping[str, str]) -> None:
        self._candidate = candidate
        self._aliases = aliases
        self._args = dict(candidate.args)
        self._env = dict(candidate.env)
        self.phrases: list[str] = []
        self.names: set[str] = set()

    def apply(self, remedy: Remedy) -> None:
        for name in remedy.remove_args:
            self._remove(name)
        for name, values in remedy.avoid_args.items():
            present = self._value(name)
            if present is not None and str(present) in values:
                self._remove(name)
        for name, value in remedy.set_args.items():
            self._set(name, value)
        for name, adjustment in remedy.adjust_args.items():
            self._adjust(name, adjustment)
        for name, text in remedy.set_env.items():
            if self._env.get(name) != text:
                self._env[name] = text
                self._note(name, f"set {name}={text}")
        for name in remedy.remove_env:
            if self._env.pop(name, None) is not None:
                self._note(name, f"unset {name}")

    def candidate(self, signature: str) -> Candidate:
        """Return the changed candidate."""
        return self._candidate.model_copy(
            update={
                "args": self._args,
                "env": self._env,
                "derived_from": self._candidate.id,
                "remedy": signature,
                "label": f"{self._candidate.label} + {signature}".lstrip(" +"),
            }
        )

    def _key(self, name: str) -> str | None:
        """The candidate's own spelling of an argument, None where it does not have it."""
        wanted = canonical(name, self._aliases)
        return next((key for key in self._args if canonical(key, self._aliases) == wanted), None)

    def _value(self, name: str) -> ArgValue | None:
        key = self._key(name)
        return None if key is None else self._args[key]

    def _remove(self, name: str) -> None:
        key = self._key(name)
        if key is not None and self._args[key] is not False:
            del self._args[key]
            self._note(key, f"removed {key}")

    def _set(self, name: str, value: ArgValue) -> None:
        key = self._key(name) or argument_name(name)
        if self._args.get(key) != value:
            self._args[key] = value
            self._note(key, f"set {key} = {value!r}")

    def _adjust(self, name: str, adjustment: Adjustment) -> None:
        present = self._value(name)
        start = present if isinstance(present, (int, float)) and not isinstance(present, bool) else adjustment.default
        if start is None:
            return
        changed = start * adjustment.times + adjustment.add
        if adjustment.least is not None and changed < adjustment.least:
            return
        whole = isinstance(start, int) and adjustment.add == int(adjustment.add)
        self._set(name, int(changed) if whole else round(changed, 4))

    def _note(self, name: str, phrase: str) -> None:
        self.names.add(name)
        self.phrases.append(phrase)


def canonical(name: str, aliases: Mapping[str, str]) -> str:
    """Return the canonical spelling of an argument; environment variables stay as they are."""
    spelled = argument_name(name)
    return argument_name(aliases.get(spelled, spelled))


def _touched_dimensions(
    names: Collection[str], varied: Mapping[str, Collection[str]], aliases: Mapping[str, str]
) -> list[str]:
    changed = {canonical(name, aliases) for name in names}
    return [
        dimension for dimension, members in varied.items() if changed & {canonical(name, aliases) for name in members}
    ]
