"""Arguments against the flags that the installed engine really has."""

from __future__ import annotations

from collections.abc import Mapping

from shakedown.domain.base import ArgValue
from shakedown.domain.candidate import Candidate
from shakedown.domain.facts import EngineFacts, FlagFacts
from shakedown.domain.nearest import nearest
from shakedown.domain.words import EngineKind
from shakedown.plan.outcome import PrunedCandidate

NO_SUCH_FLAG = "engine-has-no-such-flag"
REFUSED_VALUE = "engine-refuses-the-value"


def flag_problem(candidate: Candidate, engine: EngineFacts) -> PrunedCandidate | None:
    """Return why the installation would refuse a candidate's arguments; None if it would not or was not asked."""
    if engine.flags is None:
        return None
    source = f"flags of the installed {engine.kind} {engine.version or ''}".strip()
    known = {spelling.lstrip("-"): flag for flag in engine.flags.values() for spelling in flag.spellings}
    for name, value in candidate.args.items():
        flag = known.get(name) or _abbreviated(name, known, engine.kind)
        if value is False or (flag is None and not engine.flags_complete):
            continue
        if flag is None:
            near = nearest(name, known)
            hint = f"; did you mean --{near}?" if near else ""
            reason = f"this installation has no flag --{name}{hint}"
            return PrunedCandidate(candidate=candidate, rule=NO_SUCH_FLAG, reason=reason, sources=(source,))
        refused = _refused(value, flag)
        if refused is not None:
            near = nearest(refused, flag.choices or ())
            hint = f"; did you mean {near}?" if near else ""
            reason = f"--{name} does not take {refused!r}, only {', '.join(flag.choices or ())}{hint}"
            return PrunedCandidate(candidate=candidate, rule=REFUSED_VALUE, reason=reason, sources=(source,))
    return None


def _abbreviated(name: str, known: Mapping[str, FlagFacts], kind: EngineKind) -> FlagFacts | None:
    """Find the one flag that begins so: argparse takes unambiguous beginnings, llama.cpp's own parser does not."""
    if kind is EngineKind.LLAMA_CPP:
        return None
    meant = {flag.name: flag for spelling, flag in known.items() if spelling.startswith(name)}
    return next(iter(meant.values())) if len(meant) == 1 else None


def _refused(value: ArgValue, flag: FlagFacts) -> str | None:
    """Return the first value that is not among the flag's choices."""
    if flag.choices is None or value is True:
        return None
    values = value if isinstance(value, list) else str(value).split(",") if flag.repeats else [value]
    return next((str(item) for item in values if str(item) not in flag.choices), None)
