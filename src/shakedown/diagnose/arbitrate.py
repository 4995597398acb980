"""Which of the things found in a log is the root: pure ordering over what the scanner kept.

Order of trust: a specific signature, then a generic one, then an exception that nobody knows or a line that usually
follows from something else, then what the engine itself calls an error. Within one level the earliest line wins, which
is the process that failed first. Inside a chain of exceptions the first known cause wins over what was raised while
handling it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from shakedown.diagnose.matcher import SignatureMatch
from shakedown.diagnose.scanner import Hit, Scan
from shakedown.diagnose.signature import Tier
from shakedown.diagnose.textline import Line
from shakedown.diagnose.tracebacks import Traceback
from shakedown.domain.words import Category

# Raised in a process because another one is gone or is being stopped: never why.
_FOLLOWING_TYPES = frozenset(
    {
        "BrokenPipeError",
        "CancelledError",
        "ClientDisconnect",
        "ConnectionResetError",
        "EOFError",
        "EngineDeadError",
        "IncompleteReadError",
        "KeyboardInterrupt",
        "SystemExit",
    }
)
_CALM_LEVELS = frozenset({"INFO", "DEBUG", "T", "D"})
"""No engine reports its end at these levels; a line that does can at most be a symptom."""
_SAME_FAILURE_LINES = 60


@dataclass(slots=True)
class Suspect:
    """Something that may be the root."""

    line: Line
    context: tuple[str, ...]
    match: SignatureMatch | None = None
    """None: an exception that no signature knows."""
    type_name: str = ""
    message: str = ""
    traceback: Traceback | None = None

    @property
    def generic(self) -> bool:
        """Whether something more specific should go before it."""
        return self.match is None or self.match.signature.generic

    def same_failure(self, other: Suspect) -> bool:
        """Whether both tell of one failure: one signature on several ranks, one chain, or lines close together."""
        if self.match and other.match and self.match.signature.id == other.match.signature.id:
            return True
        if self.match is None and other.match is None and self.message == other.message:
            return True
        if self.traceback and other.traceback and self.traceback.chain == other.traceback.chain:
            return True
        near = abs(self.line.number - other.line.number) <= _SAME_FAILURE_LINES
        return near and self.line.stream == other.line.stream


@dataclass(slots=True)
class Ruling:
    """The outcome: the root, further independent roots, and everything that follows."""

    root: Suspect | None = None
    others: list[Suspect] = field(default_factory=list)
    following: list[Suspect] = field(default_factory=list)
    """Wrappers, symptoms and unknown exceptions that are not the root."""
    warnings: list[Suspect] = field(default_factory=list)


def arbitrate(scan: Scan) -> Ruling:
    """Choose the root."""
    ruling = Ruling()
    roots: list[Suspect] = []
    symptoms: list[Suspect] = []
    for hit in scan.hits:
        suspect, tier = _judge_hit(hit, scan)
        if tier in (Tier.SYMPTOM, Tier.WRAPPER) and _after_stop(hit.line.number, scan):
            continue
        if tier is Tier.ROOT:
            roots.append(suspect)
        elif tier is Tier.WARNING:
            ruling.warnings.append(suspect)
        elif tier in (Tier.SYMPTOM, Tier.WRAPPER):
            ruling.following.append(suspect)
            if tier is Tier.SYMPTOM and suspect.match and suspect.match.signature.category is not Category.SYMPTOM_ONLY:
                symptoms.append(suspect)
    unknown = _unknown(scan)
    specific = [suspect for suspect in roots if not suspect.generic]
    generic = [suspect for suspect in roots if suspect.generic]
    chosen = _earliest(specific) or _earliest(generic) or _earliest(unknown + symptoms)
    if chosen is None:
        chosen = _earliest(_errors(scan, before=_earliest(ruling.following)))
    ruling.root = chosen
    ruling.following += [suspect for suspect in unknown if suspect is not chosen]
    ruling.following = sorted(
        (entry for entry in ruling.following if entry is not chosen), key=lambda entry: entry.line.number
    )
    if chosen is not None:
        ruling.others = _independent(chosen, roots)
    return ruling


def _judge_hit(hit: Hit, scan: Scan) -> tuple[Suspect, Tier]:
    """Choose the match that counts for a line, and what the line is worth."""
    valid = [
        entry for entry in hit.matches if entry.signature.requires in scan.facts or entry.signature.requires is None
    ]
    by_tier: dict[Tier, SignatureMatch] = {}
    for entry in valid:
        by_tier.setdefault(entry.signature.tier, entry)
    order = [Tier.ROOT, Tier.WARNING, Tier.SYMPTOM, Tier.WRAPPER, Tier.BENIGN]
    root = by_tier.get(Tier.ROOT)
    if root is not None and root.signature.generic and (Tier.WRAPPER in by_tier or Tier.SYMPTOM in by_tier):
        order = [Tier.SYMPTOM, Tier.WRAPPER, *order]
    tier = next((candidate for candidate in order if candidate in by_tier), Tier.BENIGN)
    if tier is Tier.ROOT and (_is_quoted_source(hit) or hit.line.level in _CALM_LEVELS):
        tier = Tier.BENIGN
    suspect = Suspect(hit.line, hit.context, by_tier.get(tier), traceback=hit.traceback)
    return suspect, tier


def _is_quoted_source(hit: Hit) -> bool:
    """Whether the line is code quoted in a traceback whose own exception line speaks for it."""
    traceback = hit.traceback
    if traceback is None or traceback.exception is None or hit.line is traceback.exception:
        return False
    return bool(traceback.message)


def _unknown(scan: Scan) -> list[Suspect]:
    """Return the exceptions that no signature says anything about, the first of each chain."""
    spoken_for = {id(hit.line) for hit in scan.hits}
    known_chains = {
        hit.traceback.chain for hit in scan.hits if hit.traceback and hit.matches[0].signature.tier is Tier.ROOT
    }
    seen_chains: set[int] = set(known_chains)
    found: list[Suspect] = []
    for traceback in sorted(scan.tracebacks, key=lambda entry: (entry.chain, entry.place)):
        exception = traceback.exception
        if exception is None or traceback.chain in seen_chains or id(exception) in spoken_for:
            continue
        number = traceback.first_line
        if traceback.type_name in _FOLLOWING_TYPES or _recovered(number, scan) or _after_stop(number, scan):
            continue
        seen_chains.add(traceback.chain)
        line = exception if traceback.message else (traceback.last_source or exception)
        context = scan.contexts.get(traceback.first_line, ())
        found.append(Suspect(line, context, None, traceback.type_name, traceback.message, traceback))
    if not found:
        found = [
            Suspect(bare.line, bare.context, None, bare.type_name, bare.message)
            for bare in scan.bare
            if bare.type_name not in _FOLLOWING_TYPES and not _recovered(bare.line.number, scan)
        ]
    return found


def _errors(scan: Scan, before: Suspect | None) -> list[Suspect]:
    """Return the engine's own error lines that no signature knows, unless the server lived on.

    Only those ``before`` the first wrapper count: it says that the reason stands above it.
    """
    return [
        Suspect(error.line, error.context, None, "", error.message)
        for error in scan.errors
        if not _recovered(error.line.number, scan)
        and not _after_stop(error.line.number, scan)
        and (before is None or error.line.number < before.line.number)
    ]


def _after_stop(number: int, scan: Scan) -> bool:
    return scan.stopped is not None and number > scan.stopped


def _recovered(number: int, scan: Scan) -> bool:
    """Whether the server became ready after this line, or served on to the end of the log."""
    if scan.last_ready is None:
        return False
    if number < scan.last_ready:
        return True
    return any(mark in line for line in scan.tail[-3:] for mark in ('" 200 OK', "throughput", "Decode batch"))


def _earliest(suspects: list[Suspect]) -> Suspect | None:
    return min(suspects, key=lambda suspect: suspect.line.number, default=None)


def _independent(chosen: Suspect, roots: list[Suspect]) -> list[Suspect]:
    """Return the other roots that tell of a different failure than the chosen one and each other."""
    independent: list[Suspect] = []
    for suspect in sorted(roots, key=lambda entry: entry.line.number):
        if not any(suspect.same_failure(other) for other in [chosen, *independent]):
            independent.append(suspect)
    return independent
