"""What candidates ask for, and in what two of them differ."""

from __future__ import annotations

import re
from collections.abc import Mapping

from shakedown.domain.base import ArgValue
from shakedown.domain.candidate import Candidate

SPECULATION_ARG = re.compile(r"spec(ulative)?-|draft|(hf-)?model-draft|md$")
"""Arguments of speculative decoding: SGLang and TensorRT-LLM ``speculative-*``, vLLM ``speculative-config`` and
``spec-*``, llama.cpp ``spec-*`` and ``model-draft``."""

SPECULATION_SWITCHES = frozenset(
    {
        "speculative-algorithm",
        "speculative-config",
        "spec-type",
        "spec-method",
        "spec-draft-model",
        "spec-draft-hf",
        "model-draft",
    }
)
"""Arguments that switch speculation on; the others only tune it."""

STEP_ARG = re.compile(
    rf"({SPECULATION_ARG.pattern})|tp(-size)?$|tensor-parallel-size$|tensor-split$|pp(-size)?$"
    r"|pipeline-parallel-size$|quantization$|dtype$"
)
"""Arguments that change the work of a decode step itself: speculation, parallelism, quantisation."""

OFF = frozenset({"", "off", "none", "false", "0", "no", "disabled"})
ON = frozenset({"on", "true", "1", "yes", "enabled"})

Difference = dict[str, tuple[str | None, str | None]]
"""Argument or ``env:NAME`` to its two values as text; None where it is not given."""


def as_text(value: ArgValue) -> str:
    """An argument's value as one would write it: ``on`` and ``off`` for flags."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return ",".join(str(item) for item in value) if isinstance(value, list) else str(value)


def is_off(value: str | None) -> bool:
    """Whether a value means that the thing is not wanted."""
    return value is None or value.lower() in OFF


def difference(a: Candidate, b: Candidate) -> Difference:
    """Arguments and environment variables whose values differ; builds appear as ``engine``."""
    first, second = _content(a), _content(b)
    return {
        name: (first.get(name), second.get(name))
        for name in sorted(first.keys() | second.keys())
        if first.get(name) != second.get(name)
    }


def dimension(a: Candidate, b: Candidate) -> str | None:
    """The one dimension in which two candidates differ; None when they differ in none or several.

    Candidates that are not part of a space differ in a dimension where they differ in a single argument.
    """
    if not a.settings and not b.settings:
        differing = list(difference(a, b))
    else:
        names = a.settings.keys() | b.settings.keys()
        differing = [name for name in sorted(names) if a.settings.get(name) != b.settings.get(name)]
    return differing[0] if len(differing) == 1 else None


def option(candidate: Candidate, name: str) -> str:
    """The option that a candidate takes of a dimension, in words."""
    if name in candidate.settings:
        return candidate.settings[name]
    return _content(candidate).get(name, "not given")


def asks_for_speculation(candidate: Candidate) -> bool:
    """Whether the arguments switch speculative decoding on."""
    # A nested key (``speculative-config.method``) belongs to its section.
    values = (value for name, value in candidate.args.items() if name.split(".", 1)[0] in SPECULATION_SWITCHES)
    return any(not is_off(as_text(value)) for value in values)


def speculation_only(differing: Mapping[str, object]) -> bool:
    """Whether a difference is one of speculation and nothing else (an environment variable may come with it)."""
    return any(SPECULATION_ARG.match(name) for name in differing) and all(
        SPECULATION_ARG.match(name) or name.startswith("env:") for name in differing
    )


def on_off_flags_only(differing: Difference) -> bool:
    """Whether every differing setting is a flag or switch that one side has on and the other has not."""
    return bool(differing) and all(_is_switch(*values) for values in differing.values())


def alters_the_step(differing: Mapping[str, object]) -> bool:
    """Whether the difference changes the work of a decode step, so that equal speed would need an explanation."""
    return any(STEP_ARG.match(name) for name in differing)


def _is_switch(a: str | None, b: str | None) -> bool:
    on = [value is not None and value.lower() in ON for value in (a, b)]
    return (on[0] and is_off(b)) or (on[1] and is_off(a))


def _content(candidate: Candidate) -> dict[str, str]:
    engine = candidate.engine
    build = " ".join(engine.command or (engine.python or "",))
    versions = " ".join(f"{name} {version}" for name, version in sorted(engine.versions.items()))
    args = {name: as_text(value) for name, value in candidate.args.items() if value is not False}
    env = {f"env:{name}": value for name, value in candidate.env.items()}
    return {**args, **env, "engine": f"{engine.kind} {build} {versions}".strip()}
