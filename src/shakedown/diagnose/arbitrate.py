"""Which of the things found in a log is the root: pure ordering over what the scanner kept.

Order of trust: a specific signature, then a generic one, then an exception that nobody knows or a line that usually
follows from something else, then what the engine itself calls an error. Within one level the earliest line wins, which
is the process that failed first. Inside a chain of exceptions the first known cause wins over what was raised while
handling it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import dropwhile, takewhile

from shakedown.diagnose.catalogue import signature_by_id
from shakedown.diagnose.complaints import first_complaint
from shakedown.diagnose.exceptions import places_in
from shakedown.diagnose.matcher import SignatureMatch, matcher_for
from shakedown.diagnose.repetition import is_repetitive_answer
from shakedown.diagnose.scanner import Hit, Scan
from shakedown.diagnose.signature import Tier
from shakedown.diagnose.textline import Line, read_line
from shakedown.diagnose.tracebacks import Traceback, exception_in
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
_WARNING_LEVELS = frozenset({"WARNING", "WARN", "W"})
_INSTEAD = re.compile(
    r"(?i)\b(?:instead|fall(?:s|ing)? ?back|fallback|will be (?:disabled|ignored)|disabling|ignoring)\b"
)
_SAME_FAILURE_LINES = 60
_LAST_LINES = 3


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
    places: tuple[str, ...] = ()
    """Files with functions of the frames that led to it, the innermost last."""

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
        if tier in (Tier.SYMPTOM, Tier.WRAPPER) and (
            _after_stop(hit.line.number, scan) or _until_stopped(hit.line.number, scan)
        ):
            continue
        if tier is Tier.SYMPTOM and _recovered(hit.line.number, scan):
            continue
        if tier is Tier.ROOT and suspect.generic and _before_ready(hit.line.number, scan):
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
        chosen = (
            _earliest(_foreign(scan))
            or _earliest(_errors(scan, before=_earliest(ruling.following)))
            or _complaint(scan)
            or _earliest(_reasons(scan))
            or _earliest(_passed_on(scan))
            or (None if ruling.following else _repeated_answer(scan))
        )
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
    by_tier: dict[Tier, SignatureMatch] = {}
    for entry in _valid(hit, scan):
        by_tier.setdefault(entry.signature.tier, entry)
    order = [Tier.ROOT, Tier.WARNING, Tier.SYMPTOM, Tier.WRAPPER, Tier.BENIGN]
    root = by_tier.get(Tier.ROOT)
    if root is not None and root.signature.generic and (Tier.WRAPPER in by_tier or Tier.SYMPTOM in by_tier):
        order = [Tier.SYMPTOM, Tier.WRAPPER, *order]
    tier = next((candidate for candidate in order if candidate in by_tier), Tier.BENIGN)
    if tier is Tier.ROOT and (
        _is_quoted_source(hit)
        or hit.line.level in _CALM_LEVELS
        or _is_python_warning(hit, by_tier[tier])
        or _is_way_round(hit)
    ):
        tier = Tier.BENIGN
    places = _places_of(hit.traceback) if hit.traceback else _places_above(hit.line, hit.context)
    suspect = Suspect(hit.line, hit.context, by_tier.get(tier), traceback=hit.traceback, places=places)
    return suspect, tier


def _valid(hit: Hit, scan: Scan) -> list[SignatureMatch]:
    """Return the matches that count in this log.

    A signature may ask for another line; a catch-all of another engine says nothing of this one's exceptions.
    """
    return [
        entry
        for entry in hit.matches
        if (entry.signature.requires in scan.facts or not entry.signature.requires) and not _is_foreign(entry, scan)
    ]


def _is_foreign(match: SignatureMatch, scan: Scan) -> bool:
    """Whether it is a catch-all of another engine than the one that wrote the log."""
    return match.signature.generic and scan.engine is not None and match.signature.engine not in (None, scan.engine)


def _is_python_warning(hit: Hit, match: SignatureMatch) -> bool:
    """Whether the line is a warning of Python's and no failure; only torch warns so of a GPU that it cannot use."""
    if match.signature.category is Category.ENVIRONMENT_MISMATCH:
        return False
    return any(mark in hit.line.body for mark in ("UserWarning: ", "FutureWarning: ", "RuntimeWarning: "))


def _is_way_round(hit: Hit) -> bool:
    """Whether the line is a warning that says what the engine does instead: it goes on."""
    return hit.line.level in _WARNING_LEVELS and _INSTEAD.search(hit.line.body) is not None


def _is_quoted_source(hit: Hit) -> bool:
    """Whether the line is code quoted in a traceback whose own exception line speaks for it."""
    traceback = hit.traceback
    if traceback is None:
        return _is_followed_by_its_message(hit)
    if traceback.exception is None or hit.line is traceback.exception:
        return False
    return bool(traceback.message)


def _is_followed_by_its_message(hit: Hit) -> bool:
    """Whether the line is an ``assert`` or ``raise`` and the next one the exception with its message."""
    if not hit.line.body.lstrip().startswith(("assert ", "raise ")):
        return False
    following = list(dropwhile(lambda text: text != hit.line.text, hit.context))[1:2]
    raised = exception_in(following[0].strip()) if following else None
    return raised is not None and bool(raised[1])


def _unknown(scan: Scan) -> list[Suspect]:
    """Return the exceptions that no signature says anything about, the first of each chain."""
    known = [(hit, matches) for hit in scan.hits if (matches := _valid(hit, scan))]
    spoken_for = {id(hit.line) for hit, _ in known}
    known_chains = {
        hit.traceback.chain for hit, matches in known if hit.traceback and matches[0].signature.tier is Tier.ROOT
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
        around = scan.contexts.get(traceback.first_line, ())
        message = traceback.message or line.body.strip()
        found.append(Suspect(line, around, None, traceback.type_name, message, traceback, _places_of(traceback)))
    if not found:
        unmet = [(hit.line, hit.context) for hit in scan.hits if not _valid(hit, scan)]
        lines = [(bare.line, bare.context) for bare in scan.bare] + unmet
        found = [
            Suspect(place, context, None, raised[0], raised[1], places=_places_above(place, context))
            for place, context in lines
            if (raised := exception_in(place.body.strip())) is not None
            and raised[0] not in _FOLLOWING_TYPES
            and not _recovered(place.number, scan)
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


def _places_of(traceback: Traceback) -> tuple[str, ...]:
    return tuple(f"{file} {function}" for file, function in zip(traceback.files, traceback.functions, strict=True))


def _places_above(line: Line, context: tuple[str, ...]) -> tuple[str, ...]:
    """Return the frames quoted above an exception whose traceback has lost its first line, and who passed it on."""
    above = list(takewhile(lambda text: text.strip() != line.text.strip(), context))
    passed_on = [text for text in above[-1:] if text.rstrip().endswith(" raised:")]
    return (*passed_on, *places_in(above))


def _is_harmless(line: Line, scan: Scan) -> bool:
    matches, _ = matcher_for(scan.engine).match(line)
    return bool(matches) and matches[0].signature.tier in (Tier.BENIGN, Tier.WARNING)


def _complaint(scan: Scan) -> Suspect | None:
    """Return what stands just before the first line that says only that something failed elsewhere."""
    known = frozenset(hit.line.number for hit in scan.hits)
    for number in sorted(scan.before):
        if _recovered(number, scan) or _after_stop(number, scan):
            continue
        found = first_complaint(scan.before[number], known, lambda line: _is_harmless(line, scan))
        if found is not None:
            return Suspect(found.line, found.around, None, found.type_name, found.message, places=found.places)
    return None


def _reasons(scan: Scan) -> list[Suspect]:
    """Return the wrapper lines that give the reason themselves: "failed to start: NCCL error"."""
    return [
        Suspect(hit.line, hit.context, match, traceback=hit.traceback)
        for hit in scan.hits
        for match in hit.matches
        if hit.matches[0].signature.tier is Tier.WRAPPER
        and match.signature.tier is Tier.ROOT
        and not _recovered(hit.line.number, scan)
        and not _after_stop(hit.line.number, scan)
    ]


def _until_stopped(number: int, scan: Scan) -> bool:
    """Whether the server took requests, and went on to until somebody asked it to stop: a request failed, not it."""
    return scan.stopped is not None and scan.last_ready is not None and scan.last_ready < number < scan.stopped


def _foreign(scan: Scan) -> list[Suspect]:
    """Return what only a catch-all of another engine knows: engines share kernels, and kernels keep their words."""
    return [
        Suspect(hit.line, hit.context, match)
        for hit in scan.hits
        for match in hit.matches
        if _is_foreign(match, scan)
        and match.signature.tier is Tier.ROOT
        and not _recovered(hit.line.number, scan)
        and not _after_stop(hit.line.number, scan)
    ]


def _passed_on(scan: Scan) -> list[Suspect]:
    """Return the wrapper lines that pass on a reason in words that no signature knows, captured as ``reason``."""
    return [
        Suspect(hit.line, hit.context, None, "", reason)
        for hit in scan.hits
        if (reason := hit.matches[0].captures.get("reason"))
        and hit.matches[0].signature.tier is Tier.WRAPPER
        and not _recovered(hit.line.number, scan)
        and not _after_stop(hit.line.number, scan)
    ]


def _repeated_answer(scan: Scan) -> Suspect | None:
    """Return the first of the last lines that is an answer which repeats itself, in words that no pattern knows."""
    signature = signature_by_id("repeated-output")
    assert signature is not None
    tail = zip(scan.tail_numbers, scan.tail, strict=True)
    lines = (line for number, text in tail for line in read_line(number, text.encode()))
    found = next((line for line in lines if is_repetitive_answer(line)), None)
    return None if found is None else Suspect(found, scan.tail, SignatureMatch(signature, {}))


def _after_stop(number: int, scan: Scan) -> bool:
    return scan.stopped is not None and number > scan.stopped


def _before_ready(number: int, scan: Scan) -> bool:
    return scan.last_ready is not None and number < scan.last_ready


def _recovered(number: int, scan: Scan) -> bool:
    """Whether the server became ready after this line, or served on to the end of the log."""
    if scan.last_ready is None:
        return False
    if _before_ready(number, scan):
        return True
    ends_in_failure = any(
        hit.line.number >= max(number, scan.lines - _LAST_LINES + 1) and hit.matches[0].signature.tier is Tier.WRAPPER
        for hit in scan.hits
    )
    if ends_in_failure:
        return False
    return any(mark in line for line in scan.tail[-_LAST_LINES:] for mark in ('" 200 OK', "throughput", "Decode batch"))


def _earliest(suspects: list[Suspect]) -> Suspect | None:
    return min(suspects, key=lambda suspect: suspect.line.number, default=None)


def _independent(chosen: Suspect, roots: list[Suspect]) -> list[Suspect]:
    """Return the other roots that tell of a different failure than the chosen one and each other."""
    independent: list[Suspect] = []
    for suspect in sorted(roots, key=lambda entry: entry.line.number):
        if not any(suspect.same_failure(other) for other in [chosen, *independent]):
            independent.append(suspect)
    return independent
