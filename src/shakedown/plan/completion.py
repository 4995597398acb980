"""Completions: the candidate that adds what the engine demands."""

from __future__ import annotations

from collections.abc import Sequence

from shakedown.domain.candidate import Candidate
from shakedown.plan.rulebook import Rule


def completed(candidate: Candidate, rules: Sequence[Rule]) -> Candidate:
    """Derive the candidate with the completions of ``rules`` applied in order; a renamed argument keeps its value."""
    args, env = dict(candidate.args), dict(candidate.env)
    for rule in rules:
        assert rule.complete is not None
        for old, new in rule.complete.rename.items():
            if old in args:
                args[new] = args.pop(old)
        for name in rule.complete.remove_args:
            args.pop(name, None)
        args |= rule.complete.args
        env |= rule.complete.env
    added = [f"{name} {_text(value)}" for name, value in args.items() if candidate.args.get(name) != value]
    added += [f"{name}={value}" for name, value in env.items() if candidate.env.get(name) != value]
    removed = [f"no {name}" for name in candidate.args if name not in args]
    return candidate.model_copy(
        update={
            "args": args,
            "env": env,
            "label": f"{candidate.label} + {', '.join(added or removed)}",
            "derived_from": candidate.id,
            "remedy": rules[0].id,
        }
    )


def _text(value: object) -> str:
    return "" if value is True else str(value)
