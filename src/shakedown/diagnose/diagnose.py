"""Log lines to a diagnosis: one streaming pass, then arbitration. Pure; gigabytes in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable

from shakedown.diagnose.arbitrate import Ruling, Suspect, arbitrate
from shakedown.diagnose.engine_guess import engine_of
from shakedown.diagnose.evidence import root_from_evidence, signal_of
from shakedown.diagnose.exceptions import category_of, category_within, of_what_was_loaded
from shakedown.diagnose.matcher import matcher_for
from shakedown.diagnose.render import fill, remedy_of, with_computed
from shakedown.diagnose.scanner import Scan, Scanner, blocks_of
from shakedown.diagnose.textline import Line
from shakedown.domain.failure import Diagnosis, ExitEvidence, RootCause, Symptom
from shakedown.domain.words import Category, EngineKind, Stage

_MOST_LISTED = 20


def diagnose_lines(
    lines: Iterable[str | bytes],
    *,
    engine: EngineKind | None = None,
    evidence: ExitEvidence | None = None,
    engine_version: str | None = None,
) -> Diagnosis:
    """Diagnose a log given as lines, with or without their newlines.

    Args:
        lines: the log, in order; read once.
        engine: the engine that wrote it; None: recognised by its own lines.
        evidence: how the process ended, where that was seen.
        engine_version: chooses between remedies whose argument names changed; None: the newest.
    """
    return diagnose_blocks(blocks_of(lines), engine=engine, evidence=evidence, engine_version=engine_version)


def diagnose_blocks(
    blocks: Iterable[bytes],
    *,
    engine: EngineKind | None = None,
    evidence: ExitEvidence | None = None,
    engine_version: str | None = None,
) -> Diagnosis:
    """Diagnose a log given as blocks of bytes: faster than lines, and a line may be larger than memory."""
    scanner = Scanner(matcher_for(engine))
    for block in blocks:
        scanner.feed(block)
    scan = scanner.finish()
    scan.engine = engine or engine_of("\n".join([scan.head, *scan.tail, *(hit.line.text for hit in scan.hits)]))
    ruling = arbitrate(scan)
    reader = _Wording(scan, engine_version)
    root = reader.root(ruling.root) if ruling.root else None
    failed = root is not None or bool(ruling.following) or _ended_badly(evidence)
    if root is None and evidence is not None and failed:
        root = root_from_evidence(evidence)
    if root is None and not failed:
        root = reader.doubtful(ruling)
    return Diagnosis(
        engine=scan.engine,
        stage=reader.stage(ruling.root, evidence) if failed else None,
        failed=failed,
        root=root,
        other_roots=tuple(reader.root(suspect) for suspect in ruling.others[:_MOST_LISTED]),
        symptoms=tuple(reader.symptom(suspect) for suspect in ruling.following[:_MOST_LISTED]),
        warnings=tuple(reader.warnings(ruling)),
        tail=scan.tail,
        ready=scan.first_ready is not None,
    )


def _logger_of(line: Line) -> str:
    """Return what stands before a line's message: many loggers name the source file that wrote it."""
    return line.text.removesuffix(line.body)


def _ended_badly(evidence: ExitEvidence | None) -> bool:
    if evidence is None:
        return False
    return evidence.stalled or bool(evidence.exit_code) or signal_of(evidence) is not None


class _Wording:
    """Puts what was found into words, for one log."""

    def __init__(self, scan: Scan, engine_version: str | None) -> None:
        self._scan = scan
        self._version = engine_version

    def root(self, suspect: Suspect) -> RootCause:
        return self._known(suspect) if suspect.match else self._unknown(suspect)

    def _known(self, suspect: Suspect) -> RootCause:
        assert suspect.match is not None
        signature = suspect.match.signature
        captures = with_computed(signature, suspect.match.captures)
        category = signature.category
        if signature.category_by_words:
            category = category_within(category, suspect.line.body, suspect.places)
        if category is Category.MODEL_FILES or signature.category_by_words:
            category = of_what_was_loaded(category, suspect.places, suspect.context)
        return RootCause(
            category=category,
            signature=signature.id,
            line_number=suspect.line.number,
            line=suspect.line.text,
            captures=captures,
            title=fill(signature.title, captures),
            cause=fill(signature.cause, captures),
            remedy=remedy_of(signature, captures, engine=self._scan.engine, engine_version=self._version),
            sources=signature.sources,
            context=suspect.context,
        )

    def _unknown(self, suspect: Suspect) -> RootCause:
        file, _, function = (suspect.places[-1] if suspect.places else "").rpartition(" ")
        raised = f" It was raised in {function or 'a module'} ({file})." if file else ""
        if not suspect.type_name:
            return self._error_line(suspect)
        message = f": {suspect.message}" if suspect.message else " without a message"
        return RootCause(
            category=category_of(suspect.type_name, suspect.message, suspect.places, suspect.context),
            signature=None,
            line_number=suspect.line.number,
            line=suspect.line.text,
            title=f"{suspect.type_name}{message}",
            cause=f"No signature knows this exception.{raised}",
            remedy=None,
            context=suspect.context,
        )

    def _error_line(self, suspect: Suspect) -> RootCause:
        return RootCause(
            category=category_of("", suspect.message, (*suspect.places, _logger_of(suspect.line)), suspect.context),
            signature=None,
            line_number=suspect.line.number,
            line=suspect.line.text,
            title=suspect.message[:200],
            cause="No signature knows this line; it is the first that the engine itself calls an error.",
            remedy=None,
            context=suspect.context,
        )

    def doubtful(self, ruling: Ruling) -> RootCause | None:
        """Return what puts a healthy server's accuracy in doubt, if anything does."""
        for suspect in ruling.warnings:
            if suspect.match is not None and suspect.match.signature.category is Category.ACCURACY_RISK:
                return self.root(suspect)
        return None

    def symptom(self, suspect: Suspect) -> Symptom:
        signature = suspect.match.signature if suspect.match else None
        captures = with_computed(signature, suspect.match.captures) if signature and suspect.match else {}
        return Symptom(
            signature=signature.id if signature else None,
            category=signature.category if signature else None,
            line_number=suspect.line.number,
            line=suspect.line.text,
            title=fill(signature.title, captures)
            if signature
            else f"{suspect.type_name}: {suspect.message}".lstrip(": "),
            advice=fill(signature.advice, captures) if signature else "",
        )

    def warnings(self, ruling: Ruling) -> list[Symptom]:
        """Return each kind of warning once, at its first line."""
        first: dict[str | None, Symptom] = {}
        for suspect in ruling.warnings:
            symptom = self.symptom(suspect)
            first.setdefault(symptom.signature, symptom)
        return list(first.values())[:_MOST_LISTED]

    def stage(self, suspect: Suspect | None, evidence: ExitEvidence | None) -> Stage:
        """Return the stage: the signature's own, else what was seen, else by where the line stands."""
        if suspect is not None and suspect.match is not None and suspect.match.signature.stage is not None:
            return suspect.match.signature.stage
        if evidence is not None and evidence.stage is not None:
            return evidence.stage
        ready = self._scan.first_ready
        number = suspect.line.number if suspect is not None else self._scan.lines
        return Stage.LOAD if ready is not None and number > ready else Stage.BOOT
