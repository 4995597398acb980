"""Which signatures match a line. Built once; only lines that hold a signature's literal are ever looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from shakedown.diagnose.catalogue import signatures
from shakedown.diagnose.patterns import LiteralSet, Match, Pattern, any_of, compile_pattern, required_literals
from shakedown.diagnose.signature import Signature, Tier
from shakedown.diagnose.textline import Line
from shakedown.diagnose.tracebacks import CHAIN_MARKS, HEADER
from shakedown.domain.words import EngineKind

READY_MARKS = ("fired up and ready to roll", "Application startup complete", "server is listening on")
"""What the engines print when they take requests (vLLM may still fail to bind after it)."""
STOP_MARKS = ("SIGTERM received", "signal=SIGTERM", "Received SIGTERM", "received signal 15", "SIGINT received")
"""What they print when somebody asks them to stop: what dies after that did not fail."""
_LINE_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class SignatureMatch:
    """A signature that matched a line, and what it captured."""

    signature: Signature
    captures: dict[str, str]


class Matcher:
    """All given signatures; those of ``engine``, if it is known, go before those of other engines on one line.

    Engines share code and wording, so a signature of another engine still counts where nothing closer matches.
    """

    def __init__(
        self, members: Sequence[Signature], extra_literals: Iterable[str], engine: EngineKind | None = None
    ) -> None:
        self._engine = engine
        entries: list[tuple[str, Signature | None]] = []
        for signature in members:
            entries += [(pattern, signature) for pattern in signature.patterns]
        entries += [(fact, None) for fact in dict.fromkeys(entry.requires for entry in members) if fact is not None]
        self._entries = entries
        holders: dict[str, list[int]] = {}
        for index, (pattern, _) in enumerate(entries):
            for literal in required_literals(pattern):
                holders.setdefault(literal, []).append(index)
        self._holders = list(holders.values())
        self._literals = LiteralSet(list(holders))
        self.trigger: Pattern = any_of([*holders, *extra_literals])
        """Finds the next place in a block that is worth reading."""

    def match(self, line: Line) -> tuple[list[SignatureMatch], list[str]]:
        """Return the signatures that match, most telling first, and the ``requires`` patterns that hold.

        A benign match empties the list of all but benign and warning matches.
        """
        body, text = line.body.encode()[:_LINE_BYTES], line.text.encode()[:_LINE_BYTES]
        matches: dict[str, SignatureMatch] = {}
        facts: list[str] = []
        for index in sorted({entry for literal in self._literals.present(text) for entry in self._holders[literal]}):
            pattern, signature = self._entries[index]
            if signature is not None and signature.id in matches:
                continue
            found = compile_pattern(pattern).search(body) or compile_pattern(pattern).search(text)
            if found is None:
                continue
            if signature is None:
                facts.append(pattern)
            else:
                matches[signature.id] = SignatureMatch(signature, _captures(found))
        ordered = sorted(matches.values(), key=lambda match: self._rank(match.signature))
        if any(match.signature.tier is Tier.BENIGN for match in ordered):
            ordered = [match for match in ordered if match.signature.tier in (Tier.BENIGN, Tier.WARNING)]
        return ordered, facts

    def _rank(self, signature: Signature) -> tuple[bool, bool, bool, bool]:
        """Order matches of one line: specific before generic, conditional before plain, an engine's own first."""
        foreign = self._engine is not None and signature.engine not in (None, self._engine)
        return signature.generic, foreign, signature.requires is None, signature.engine is None


def _captures(found: Match) -> dict[str, str]:
    """Return what the named groups caught, empty ones left out."""
    return {key.decode(): value.decode("utf-8", "replace") for key, value in found.groupdict().items() if value}


_ERROR_MARKS = (
    "Error: ",
    "Exception: ",
    "ERROR",
    r"\[E\] ",
    " E ",
    "rror: ",
    r"what\(\):",
    "FATAL",
    "CRITICAL",
    "panic: ",
)
"""What marks a line that may be worth keeping although no signature knows it."""
_TRACEBACK_LITERALS = tuple(mark.replace("(", r"\(").replace(")", r"\)") for mark in (HEADER, *CHAIN_MARKS))


@cache
def matcher_for(engine: EngineKind | None) -> Matcher:
    """Return the matcher for a log of ``engine``; None: not known."""
    return Matcher(signatures(), [*_TRACEBACK_LITERALS, *READY_MARKS, *STOP_MARKS, *_ERROR_MARKS], engine)
