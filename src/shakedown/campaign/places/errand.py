"""What a trial away from here is sent out with, and what it must bring back beside its own files."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from shakedown.campaign.places.remote.frames import FILES, INPUT, LEASE_S
from shakedown.domain.errors import UserError
from shakedown.domain.spec import PROMPT_FILES
from shakedown.domain.trial import TrialRequest
from shakedown.domain.words import OnDisconnect

REFERENCE_NAME = "reference.json"
"""What the reference's log-probabilities are called in the folder of the trial that writes them."""
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Errand:
    """A trial's request as the far side gets it, and the files of this machine that it names."""

    TICKET: ClassVar[str] = "place.json"
    """In a trial's folder here: where the trial is."""

    on_disconnect: OnDisconnect
    message: dict[str, object] = field(default_factory=dict)
    inputs: dict[str, Path] = field(default_factory=dict)
    """Files by the SHA-256 of their content."""
    brings: Path | None = None
    """Where the reference's log-probabilities belong that this trial writes."""

    @classmethod
    def of(cls, request: TrialRequest, *, on_disconnect: OnDisconnect) -> Errand:
        """Pack a request: files of this machine become inputs, its folder the one on the far side.

        Raises:
            UserError: a file that it names cannot be read.
        """
        inputs: dict[str, Path] = {}

        def sent(path: Path) -> str:
            digest = _sha256(path)
            inputs[digest] = path
            return INPUT.format(sha256=digest)

        gates = request.gates
        reference = Path(gates.reference_file) if gates.reference_file is not None else None
        if reference is not None:
            there = f"{FILES}/{REFERENCE_NAME}" if gates.write_reference else sent(reference)
            gates = gates.model_copy(update={"reference_file": there})
        points = [
            plan.model_copy(
                update={
                    "workload": plan.workload.model_copy(
                        update={"prompts": tuple(_sent_source(source, sent) for source in plan.workload.prompts)}
                    )
                }
            )
            for plan in request.points
        ]
        away = request.model_copy(update={"folder": FILES, "gates": gates, "points": tuple(points)})
        message: dict[str, object] = {
            "settings": {"on_disconnect": on_disconnect.value, "lease_s": LEASE_S},
            "request": away.model_dump_json(),
            "inputs": [
                {"sha256": digest, "name": path.name, "bytes": path.stat().st_size} for digest, path in inputs.items()
            ],
        }
        return cls(on_disconnect, message, inputs, reference if gates.write_reference else None)

    def content(self, sha256: str) -> Iterator[bytes]:
        """The bytes of an input."""
        with self.inputs[sha256].open("rb") as stream:
            while block := stream.read(_BLOCK_BYTES):
                yield block

    def bring_home(self, folder: Path) -> None:
        """Put the log-probabilities that the trial wrote where the campaign looks for them, whole or not at all."""
        written = folder / REFERENCE_NAME
        if self.brings is None or not written.exists():
            return
        self.brings.parent.mkdir(parents=True, exist_ok=True)
        part = self.brings.with_name(f"{self.brings.name}.{os.getpid()}.part")
        shutil.copyfile(written, part)
        part.replace(self.brings)

    def write_ticket(self, folder: Path, **where: str) -> None:
        """Leave in the trial's folder where it went, for who attaches later."""
        brings = str(self.brings) if self.brings is not None else None
        ticket = {**where, "on_disconnect": self.on_disconnect.value, "brings": brings}
        (folder / self.TICKET).write_text(json.dumps(ticket), encoding="utf-8")

    @classmethod
    def from_ticket(cls, folder: Path) -> tuple[Errand, dict[str, str]] | None:
        """What :meth:`write_ticket` left; None if the trial went nowhere."""
        try:
            ticket = json.loads((folder / cls.TICKET).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        brings = ticket.pop("brings")
        return cls(OnDisconnect(ticket.pop("on_disconnect")), brings=Path(brings) if brings else None), ticket


def _sent_source(source: str, sent: Callable[[Path], str]) -> str:
    word, _, name = source.partition(":")
    return f"{word}:{sent(Path(name))}" if word in PROMPT_FILES else source


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK_BYTES):
                digest.update(block)
    except OSError as error:
        raise UserError(f"{path}: cannot be sent to the trial: {error.strerror}") from error
    return digest.hexdigest()
