"""The last resort: what stands just before a line that only says that something failed elsewhere.

Programs of every kind end in ``Received sigquit`` or ``failed to load model``; the reason is printed shortly before,
often in words that no signature knows and without a level. Only these few lines are looked at, so that reading a log
costs nothing for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from shakedown.diagnose.exceptions import places_in
from shakedown.diagnose.textline import Line, read_line
from shakedown.diagnose.tracebacks import exception_in

Before = tuple[tuple[int, bytes], ...]
"""Numbered raw lines, the nearest last."""

_COMPLAINT = re.compile(
    r"\berror\b|\bfail(?:ed|ure|s)?\b|\bfatal\b|\babort|\bcannot\b|\bcan't\b|could not|\bunable to\b|"
    r"timed out|\btimeout\b|"
    r"not supported|unsupported|\binvalid\b|\bexceed|insufficient|out of memory|\brefused\b|mismatch|no such|not found|"
    r"\bcorrupt|\bmissing\b|\bpanic|does not|no device code|\bundefined\b|\bunknown\b|incompatible|\bcrash|"
    r"\brequires\b|must be set",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"\bwarn|fall(?:ing|s)? ?back|\bskip(?:s|ped|ping)?\b|\bignor|\bretry|\bdeprecat|\binfo\b|"
    r"\bdebug\b|will be|disabl|default|"
    r"\btry\b|cleaning up|\b200\b|args?=|destroy_process_group|\d+%|exited|exiting",
    re.IGNORECASE,
)
_AROUND = 3
_CALM = frozenset({"INFO", "DEBUG", "WARNING", "T", "D"})


@dataclass(frozen=True, slots=True)
class Complaint:
    """A line that says what is wrong, in words of its own."""

    line: Line
    type_name: str
    message: str
    places: tuple[str, ...]
    around: tuple[str, ...] = ()
    """The lines next to it."""


def first_complaint(
    before: Before, known: frozenset[int], harmless: Callable[[Line], bool] = lambda _: False
) -> Complaint | None:
    """Return the first line of ``before`` that complains.

    Args:
        before: the lines to look at.
        known: numbers of the lines that are spoken for.
        harmless: whether a line is known to mean nothing.
    """
    seen: list[Line] = []
    lines = list(_lines(before))
    for place, line in enumerate(lines):
        complaint = None if line.number in known else _complaint(line, seen)
        if complaint is not None and not harmless(line):
            near = lines[max(0, place - _AROUND) : place + _AROUND + 1]
            return replace(complaint, around=tuple(neighbour.text for neighbour in near))
        seen.append(line)
    return None


def _lines(before: Before) -> Iterator[Line]:
    for number, raw in before:
        yield from read_line(number, raw)


def _complaint(line: Line, seen: Sequence[Line]) -> Complaint | None:
    if line.level in _CALM or line.body.startswith((" ", "\t", "^")):
        return None
    exception = exception_in(line.body)
    places = tuple(places_in([earlier.body for earlier in seen]))
    if exception is not None:
        type_name, message = exception
        if message:
            return Complaint(line, type_name, message, places)
        source = next((earlier for earlier in reversed(seen) if earlier.body.strip(" ^~|")), None)
        source = source if source is not None and source.body.startswith("  ") else None
        return None if source is None else Complaint(source, type_name, source.body.strip(), places)
    if _COMPLAINT.search(line.body) and not _HARMLESS.search(line.body):
        return Complaint(line, "", line.body.strip(), places)
    return None
