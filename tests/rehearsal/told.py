"""Runs a campaign of the rehearsal by its command line, and finds things in what it told."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.rehearsal.stage import set_stage

from shakedown.domain.result import CampaignResult, CandidateResult, Finding
from shakedown.domain.words import FindingKind, Verdict


@dataclass(frozen=True)
class Told:
    """What a campaign came to."""

    result: CampaignResult
    folder: Path

    def findings(self, kind: FindingKind) -> list[Finding]:
        return [finding for finding in self.result.findings if finding.kind is kind]

    def with_settings(self, **settings: str) -> list[CandidateResult]:
        """Candidates that take these options, those that remedies made included."""
        return [
            candidate
            for candidate in self.result.candidates
            if all(candidate.settings.get(name) == value for name, value in settings.items())
        ]

    def launched(self, **settings: str) -> list[CandidateResult]:
        return [candidate for candidate in self.with_settings(**settings) if candidate.launches]

    def verdicts(self, **settings: str) -> set[Verdict]:
        return {candidate.verdict for candidate in self.launched(**settings)}

    def logs(self) -> list[str]:
        """Every line that the scripted servers wrote."""
        return [line for log in self.folder.glob("trials/*/server.log") for line in log.read_text().splitlines()]


def rehearse(folder: Path, name: str, **changes: str) -> Told:
    """Run one campaign to its end, as a user would."""
    file = set_stage(folder, name, **changes)
    out = folder / "result"
    command = [sys.executable, "-m", "shakedown", "run", str(file), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"COLUMNS": "200"})
    assert done.returncode in (0, 3), done.stdout[-3000:] + done.stderr[-3000:]
    return Told(CampaignResult.model_validate_json((out / "result.json").read_text()), out)
